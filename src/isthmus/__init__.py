"""Isthmus joins Kubernetes clusters by service mirroring."""

__version__ = "0.1.0"
