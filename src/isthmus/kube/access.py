"""What it takes to talk to a cluster, wherever it was configured."""

from dataclasses import dataclass, field

from isthmus.kube.apiserver import ApiServer
from isthmus.kube.credentials import Credentials


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Where a cluster is and who we are there. ``warnings`` are for the person who asked."""

    context: str
    server: ApiServer
    credentials: Credentials = field(repr=False)
    namespace: str = "default"
    warnings: tuple[str, ...] = ()
