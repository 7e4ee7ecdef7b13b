"""`tacit audit`: attack what clients send."""
