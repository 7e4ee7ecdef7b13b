"""Access of people to a server from other machines: roles, certificates, calls and their log.

A person holds a key of their own and a certificate that the server knows by its fingerprint. The
server checks for each call who makes it and in which role, and writes both into its log.
"""
