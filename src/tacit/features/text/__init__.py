"""Text features: words, hashed words, word lists."""
