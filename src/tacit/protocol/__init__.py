"""What crosses between a server and its clients, and the round loop; it sees no rows."""
