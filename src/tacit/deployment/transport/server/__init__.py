"""The server process of a run: registered sites and the channel to them."""
