"""The edge to Kubernetes: the only code that talks to an API server."""
