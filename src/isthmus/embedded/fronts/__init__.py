"""The ways into an embedded cluster: calls inside this process, and HTTPS."""
