"""How a site gets to know its server and other sites: invitations, requests for admission, rosters,
and fingerprints that people compare.
"""
