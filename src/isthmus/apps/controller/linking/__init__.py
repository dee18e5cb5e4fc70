"""A session for each Link: reads its target, by its catalogue or by its API."""
