"""Who a workload is, as certificates say it: a SPIFFE ID."""

from typing import NamedTuple


class Identity(NamedTuple):
    """One service account of one cluster of a mesh."""

    cluster: str
    mesh_domain: str
    namespace: str
    account: str

    @property
    def trust_domain(self) -> str:
        return f"{self.cluster}.{self.mesh_domain}"

    def __str__(self) -> str:
        return f"spiffe://{self.trust_domain}/ns/{self.namespace}/sa/{self.account}"
