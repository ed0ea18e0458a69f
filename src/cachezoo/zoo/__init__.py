"""Systems: a folder each, from settings to the report, and the registry of their records."""
