"""Envoy's language, pure: from routes to resources, snapshots and one stream of them."""
