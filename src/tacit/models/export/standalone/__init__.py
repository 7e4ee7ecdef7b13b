"""Files that go into exported folders as they are: they need no Tacit where they are used."""
