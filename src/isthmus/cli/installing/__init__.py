"""Puts Isthmus into a cluster, and takes it out."""
