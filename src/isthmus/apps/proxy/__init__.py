"""A proxy's launcher: a certificate that is always fresh, and an Envoy that uses it."""
