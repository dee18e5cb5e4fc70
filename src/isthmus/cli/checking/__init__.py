"""Checks of a cluster and of calls: what is wrong, where, and the way out."""
