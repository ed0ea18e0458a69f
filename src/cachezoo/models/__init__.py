"""Model families of the zoo and the format of a trained model."""
