"""HTML pages: templates, charts and cards."""
