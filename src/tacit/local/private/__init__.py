"""Models of which a part stays with each client: the split, the words, the local steps, and what is kept between rounds."""
