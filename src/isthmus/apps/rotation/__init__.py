"""Replaces the trust anchor of running clusters. Read ``driving`` first."""
