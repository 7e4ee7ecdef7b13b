"""What the owner of a site does between requests: erase a client, look at runs, back up, restore."""
