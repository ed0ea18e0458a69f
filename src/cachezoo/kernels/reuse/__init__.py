"""When will a page be used again: what is known of it at each access, and how often such pages came back."""
