"""The codes that commands end with, beside 0."""

FAILED = 1
MISUSED = 2
UNFINISHED = 3  # paused, or interrupted: the same command goes on
TRY_AGAIN = 75  # EX_TEMPFAIL of sysexits.h
INTERRUPTED = 130  # 128 + SIGINT, as shells do it
