"""Web pages over the files that Tacit writes: runs, a site, a server. One application factory and
one set of security rules; no build step and no external request.
"""
