"""`tacit runs`: read the records of past runs."""
