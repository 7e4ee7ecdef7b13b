"""Files of named data sets: downloaded, checked and cached."""
