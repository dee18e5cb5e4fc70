"""Processes that are killed wherever they wait, and what becomes of their work afterwards."""
