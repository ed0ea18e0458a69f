"""Model inputs, one code for training and serving."""
