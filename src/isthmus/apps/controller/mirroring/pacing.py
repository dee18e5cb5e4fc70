"""How soon what is large may be written again.

A headless mirror names the cluster IPs of its pods' mirrors, which come one after the other. If it
were written for each of them, a slice with a thousand endpoints would go hundreds of times through
the API server, and from there to every node.
"""

FEW = 100  # endpoints, after which nobody rests
EACH = 0.001  # seconds of rest for each endpoint that was written
LONGEST = 1.0


def pause(endpoints: int) -> float:
    """Return for how long a name rests that has just written so many; 0 for most names."""
    return 0.0 if endpoints <= FEW else min(endpoints * EACH, LONGEST)
