"""MLflow as a view of the stage outputs; the only importer of mlflow."""
