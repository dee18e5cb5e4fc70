"""Writes the reference of commands, kinds and values from the code itself (not shipped)."""
