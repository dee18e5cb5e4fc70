"""Embedded clusters that can be joined: what Isthmus runs in them, on this machine."""
