"""Numbers that somebody types: what would make no sense is said to, before anything begins."""

import argparse
import sys
from collections.abc import Callable
from typing import NoReturn


def natural(text: str) -> int:
    found = int(text)
    if found < 0:
        raise argparse.ArgumentTypeError(f"{text} is below 0")
    return found


def at_least_one(text: str) -> int:
    found = int(text)
    if found < 1:
        raise argparse.ArgumentTypeError(f"{text} is below 1")
    return found


def positive(text: str) -> float:
    found = float(text)
    if not found > 0:
        raise argparse.ArgumentTypeError(f"{text} is not more than 0")
    return found


def ended(main: Callable[[], int]) -> NoReturn:
    """Run a program, and end with its code; Ctrl-C ends it without a word about where it was."""
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(130)
