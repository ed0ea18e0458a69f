"""Cache policies, classic and learned, on the kernels."""
