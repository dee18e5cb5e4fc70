"""What the ways from a caller to a server are called: by who carries, and as what."""

DIRECT = "direct"
OURS = "isthmus"
FLOOR = "floor: bare Envoys"
ONE = "one Envoy"  # in the clear: what any proxy at all costs
BYTES, REQUESTS = "as bytes", "as requests"


def named(carrier: str, how: str) -> str:
    return f"{carrier}, {how}"


def who(way: str) -> str:
    return way.partition(", ")[0]


def kind(way: str) -> str:
    return way.partition(", ")[2]
