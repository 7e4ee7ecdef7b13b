"""Published tables as data: the printed numbers, the runs that reproduce them, and the papers' claims.

One folder per paper, each an entry point of the group `tacit.papers`.
"""
