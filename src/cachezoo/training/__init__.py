"""Training loops of the model families."""
