"""Records read while they grow: what pages show, in bounded memory and without any lock."""
