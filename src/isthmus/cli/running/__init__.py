"""Runs what a cluster runs: its controller, and its proxies."""
