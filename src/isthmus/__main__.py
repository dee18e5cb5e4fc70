"""``isthmus``, and ``python -m isthmus``: the command, which Ctrl-C ends at any time.

Nothing is imported here that takes time: who presses Ctrl-C while the rest is on its way means the
command, and does not want to read what it was importing.
"""

import gc
import os
import signal
import sys
from types import FrameType

from isthmus.cli.exits import INTERRUPTED

# How much is made before what refers to itself is searched for: more than is made until a command
# runs. With Python's own 700 a sixth of a start went into the search, and most commands end soon;
# those that run for ever choose their own measure.
SELDOM = (200_000, 20, 100)


def main() -> None:
    """Run the command, and end quietly if that is not wanted any more before it has begun."""
    gc.set_threshold(*SELDOM)
    patient = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if patient:
        signal.signal(signal.SIGINT, _end)
    from isthmus.cli import main as command

    try:
        if patient:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        command.main()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def _end(_number: int, _frame: FrameType | None) -> None:
    os._exit(INTERRUPTED)  # nothing has been done, so that nothing is to be undone


if __name__ == "__main__":
    main()
