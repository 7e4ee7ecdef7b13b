"""Which client holds which rows."""
