"""RC-RNN's caching model: an LSTM that decides between bypass and three queues, with the cache that it runs."""
