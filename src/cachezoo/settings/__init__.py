"""What params.yaml holds, validated: values, and nothing that acts on them. Stages depend on the values alone."""
