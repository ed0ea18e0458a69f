"""cachezoo: an end-to-end training pipeline and model zoo for storage caches."""

__version__ = "0.1.0"
