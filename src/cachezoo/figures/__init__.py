"""RC-RNN's figures and tables on the pipeline's own outputs, what the paper says of each, and whether it holds here."""
