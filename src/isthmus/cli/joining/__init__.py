"""Joins clusters: Links in the source, Grants in the target."""
