"""Numbers as people read them. Pure; a dash stands for what is not known."""

UNKNOWN = "-"
_SIZES = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def milliseconds(value: float | None) -> str:
    """A time such as 0.4ms, 12ms or 1.5s."""
    if value is None:
        return UNKNOWN
    if value >= 1000:
        return f"{_short(value / 1000)}s"
    return f"{_short(value)}ms"


def size(value: float | None) -> str:
    """Bytes such as 317B or 1.2MiB."""
    if value is None:
        return UNKNOWN
    place = 0
    while value >= 999.5 and place < len(_SIZES) - 1:
        value, place = value / 1024, place + 1
    return f"{_short(value)}{_SIZES[place]}"


def amount(value: float | None) -> str:
    """How many, or how many in a second."""
    return UNKNOWN if value is None else _short(value)


def share(value: float | None) -> str:
    """A part of all, such as 99.95%; all of it only if nothing is missing."""
    if value is None:
        return UNKNOWN
    # 100.00% must not hide the one failure in a million.
    shown = f"{value * 100:.2f}"
    return "99.99%" if shown == "100.00" and value < 1 else f"{shown}%"


def _short(value: float) -> str:
    """Two digits behind the point for what is small, none for what is large or whole."""
    if value == int(value) or value >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"
