"""Worker processes, and the memory that they share with the simulator."""
