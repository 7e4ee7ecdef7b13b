"""Tables of a plan about rows: where they are, what their columns mean, which are public or shared."""
