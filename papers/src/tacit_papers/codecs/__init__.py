"""Codecs that only published tables use, as entry points of the group `tacit.codecs`."""
