"""RC-RNN's workload classifier: an LSTM that names the category that is running, and the monitor that votes."""
