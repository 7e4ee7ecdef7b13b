"""Commands that write, check, run and use plans and models."""
