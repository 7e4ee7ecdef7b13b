"""Privacy guarantees: claims, accounting, ledgers, an owner's policy, and every sentence about
privacy.
"""
