"""The transport of a cluster: actors on many machines that answer packets of bytes, over Ray. It knows
bytes, errors and addresses only; nothing else imports Ray.
"""
