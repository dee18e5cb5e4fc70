"""What tests share: virtual time, waiting for a state, builders, backends."""
