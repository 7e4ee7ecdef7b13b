"""What is promised to a person: claims, accounting, ledgers, an owner's policy, and every sentence
about privacy.
"""
