"""Runs an embedded cluster: its pods, Service addresses and names, on loopback addresses."""
