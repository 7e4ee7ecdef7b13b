"""Column statistics that several sites can merge: number formats and common values."""
