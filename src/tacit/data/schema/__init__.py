"""A plan's schema applied to rows: what cells mean, which do not fit, and a first draft."""
