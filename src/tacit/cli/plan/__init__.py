"""`tacit plan`: improve a plan before it runs."""
