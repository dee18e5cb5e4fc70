"""The two kinds of failure; the class tells a worker what to do next."""


class IsthmusError(Exception):
    """Base of every error we raise; its text is one line, fit for an operator to read."""


class Transient(IsthmusError):
    """Trying again, unchanged, may work. The work queue retries with backoff."""


class Permanent(IsthmusError):
    """Only a changed input can help. The worker reports it and waits for an event."""


class Misused(Permanent):
    """What was typed cannot be meant, whatever a cluster looks like: a value, a name, a file."""
