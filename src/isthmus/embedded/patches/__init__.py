"""Changing an object by a patch, and who owns which of its fields. Pure."""
