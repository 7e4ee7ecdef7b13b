"""A run between real sites: a server that sees no rows, and sites whose owners decide. Carriers
bring signed messages there and back.
"""
