"""From `kubectl label` in one real cluster to the first good call in another."""
