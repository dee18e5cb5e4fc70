"""Asyncio tools that know neither Kubernetes nor Envoy."""
