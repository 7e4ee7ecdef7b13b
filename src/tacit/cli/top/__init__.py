"""Commands at the top of the tree: a model, from plan to predictions."""
