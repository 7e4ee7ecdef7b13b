"""A site's rows: which take part, which are held out, what is disclosed about them."""
