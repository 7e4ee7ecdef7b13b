"""What somebody reads off one client's message of one round, as the plan's own features, training,
clip and codec make it.
"""
