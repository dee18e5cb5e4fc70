"""What a consumer needs to know about the server it reads from; travels as JSON over a pipe."""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field

SERVICES = "/api/v1/services"
ENDPOINT_SLICES = "/apis/discovery.k8s.io/v1/endpointslices"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A server, the credentials for it, and the stretch of history that a watch replays."""

    url: str
    ca_file: str
    token: str = field(repr=False)
    kubeconfig: str
    since: str  # the resource version before the first update
    events: int  # how many updates of Services followed it
    objects: int  # how many Services there are, and as many EndpointSlices

    @property
    def headers(self) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    def trust(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self.ca_file)
