"""A whole cluster of one node on this machine, as root: what a pod sees is real."""
