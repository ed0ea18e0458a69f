"""One cache for several applications: how it is split among them, and what each has of it."""
