"""Whether a controller that runs for long, while links come and go, keeps to what it needs."""
