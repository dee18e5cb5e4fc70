"""What a run has found, as values that can be written down and read again."""

import msgspec

from bench.results import Machine


class Waited(msgspec.Struct, frozen=True, kw_only=True):
    """One Service. Seconds since its command was typed."""

    typed: float  # until kubectl had ended
    answered: float  # until the first good answer had come


class FirstCalls(msgspec.Struct, frozen=True, kw_only=True):
    """``labelled`` Services cross to another cluster; those ``created`` are called where they are,
    which takes kubectl, the API server, kube-proxy and DNS alone."""

    machine: Machine
    date: str
    load: float
    labelled: tuple[Waited, ...]
    created: tuple[Waited, ...]
