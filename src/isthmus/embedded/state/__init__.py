"""What a cluster holds: its objects, and what is derived from them in step with every write."""
