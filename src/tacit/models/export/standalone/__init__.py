"""Files that are copied into exported folders unchanged: they do not need Tacit."""
