"""Measures the Kubernetes edge beside the libraries one could have used instead; not shipped."""
