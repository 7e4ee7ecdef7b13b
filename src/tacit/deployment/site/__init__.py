"""A site's side of a deployed run."""
