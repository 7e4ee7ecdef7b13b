"""`tacit server start`: the server that sites join."""
