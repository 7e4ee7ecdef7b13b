"""What is asked: one file a group of figures, each giving back a list of results."""
