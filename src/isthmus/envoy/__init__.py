"""The edge to Envoy: its configuration server, its bootstrap, its process."""
