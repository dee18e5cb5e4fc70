"""What it takes to talk to a cluster, wherever it was configured."""

from dataclasses import dataclass, field

from isthmus.kube.credentials import Credentials
from isthmus.kube.endpoint import Endpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Where a cluster is and who we are there. ``warnings`` are for the person who asked."""

    context: str
    endpoint: Endpoint
    credentials: Credentials = field(repr=False)
    namespace: str = "default"
    warnings: tuple[str, ...] = ()
