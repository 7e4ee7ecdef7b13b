"""A run between real sites: a server that sees no rows, and sites whose owners decide. Carriers
bring letters there and back.
"""
