"""The data sets Tacit knows by name, one small file per family; each entry is data: files,
checksums, terms, roles.
"""
