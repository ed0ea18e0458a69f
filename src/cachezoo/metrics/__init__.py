"""What the stages that evaluate write: the types of metrics/, and their readers."""
