"""What proxies are told: decisions about exports, mirrors and callers, as snapshots for Envoy."""
