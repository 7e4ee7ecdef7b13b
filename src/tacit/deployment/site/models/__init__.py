"""Models that a site received: checks before anything is written, and the folder of each."""
