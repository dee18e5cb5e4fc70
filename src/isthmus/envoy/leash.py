"""``python -m isthmus.envoy.leash PARENT COMMAND …``: become COMMAND, and end when PARENT does.

A launcher that is killed can clean nothing up. The kernel can: it is asked here, by the process
that is about to become Envoy, because asking between fork and exec is not safe in a program that
has threads.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    parent, *command = sys.argv[1:]
    end_with(int(parent))
    os.execv(command[0], command)


def end_with(parent: int) -> None:
    """End this process when its parent does, and now if that has ended already."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit("the launcher has ended already")  # before the kernel could be asked


if __name__ == "__main__":
    main()
