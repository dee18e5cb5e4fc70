"""One module for each way to read from Kubernetes; each runs alone in a process of its own.

A module offers ``listing`` (all Services and EndpointSlices, returned and so kept alive) and
``watching`` (a replay of updates; ``seen`` is called for each and says when to stop). Those of
the peers are written the way their own documentation shows.
"""
