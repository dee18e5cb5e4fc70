"""Real Kubernetes on one Linux machine, as the judge of everything the embedded cluster claims."""
