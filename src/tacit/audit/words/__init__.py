"""Attacks that read the words of models with word tables, from gradients, updates and tables."""
