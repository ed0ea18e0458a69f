"""One self-contained HTML page: the shell of the report, of a trace's page and of a recommendation's page."""
