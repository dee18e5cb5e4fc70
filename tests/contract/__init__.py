"""What the Kubernetes API does, stated once and asked of three servers."""
