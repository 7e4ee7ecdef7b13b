"""Commands for servers, sites and their owners."""
