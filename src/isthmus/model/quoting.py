"""Text from elsewhere, made fit to stand in an error of ours or on a terminal.

A server, a plugin or a certificate may say anything, control characters and megabytes included.
"""


def one_line(text: str, longest: int) -> str:
    """Return ``text`` on one line, without control characters, cut to ``longest`` characters."""
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    return line if len(line) <= longest else line[: longest - 1] + "…"
