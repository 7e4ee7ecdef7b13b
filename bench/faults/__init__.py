"""`python -m bench faults`: a run between real sites under kill -9, with ledgers and a model as if
nothing had happened.
"""
