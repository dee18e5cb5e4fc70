"""How soon a command that runs for ever looks for garbage."""

import gc

# How much is made before the young are searched for what refers to itself, and after how many
# searches the older are, and all. Python's own 700 cost a controller a tenth of its work.
SEARCH = (10_000, 2, 2)


def keep_tidy() -> None:
    """Let garbage be found soon from now on, and not be looked for in what is there already.

    Every link that ends is garbage that refers to itself: cancelled tasks and their tracebacks hold
    each other, and with them sessions and TLS contexts. A link that lived during a search is of the
    older from then on. If these are searched rarely, many that have ended are kept.
    """
    gc.freeze()  # what is there by now lives as long as we do
    gc.set_threshold(*SEARCH)
