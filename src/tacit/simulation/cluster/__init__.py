"""A simulation on a cluster: actors prepare the rows and compute the responses of clients, and only
requests, sums and the memory of clients travel.
"""
