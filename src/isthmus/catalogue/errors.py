"""What can go wrong between two controllers; a Link's status shows the names as reasons."""

from isthmus.model.errors import Permanent, Transient


class Unreachable(Transient):
    """No usable answer came: refused, reset, timed out, silent, or broken off."""


class Garbled(Transient):
    """An answer came that is not a catalogue, or is larger than one can be."""


class Unavailable(Transient):
    """The other side cannot serve a catalogue now."""


class Forbidden(Transient):
    """The other side has no Grant for us; one may be written at any time."""


class Untrusted(Permanent):
    """TLS: who answers does not prove to be the gateway of that cluster."""


class WrongCluster(Permanent):
    """The catalogue is that of another cluster, or of another mesh."""


class NoIdentity(Transient):
    """This controller has no certificate of its own yet, and without one nobody lets it in."""
