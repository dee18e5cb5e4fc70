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
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(parent):
        sys.exit("the launcher has ended already")  # before the kernel could be asked
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
