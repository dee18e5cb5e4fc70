"""What was seen of clusters and of calls, as values that nobody changes."""
