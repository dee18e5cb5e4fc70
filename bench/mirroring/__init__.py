"""Measures mirroring between two real API servers, beside the same writes from a bare client."""
