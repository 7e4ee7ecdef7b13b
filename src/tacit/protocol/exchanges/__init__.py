"""What may cross between a server and its clients, one exchange per file."""
