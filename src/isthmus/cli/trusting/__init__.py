"""The certificates that clusters know each other by."""
