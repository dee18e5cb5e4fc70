"""Decisions: pure functions from values to values."""
