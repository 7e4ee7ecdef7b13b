"""Commands about past runs, data sets and papers."""
