"""Settings of a system compared over seeds: only its fit and judge run, on what the pipeline's earlier stages made."""
