"""Values: what flows between the rooms. Nothing here does I/O."""
