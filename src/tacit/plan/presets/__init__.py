"""Presets: settings chosen from epsilon, people and the kind of data."""
