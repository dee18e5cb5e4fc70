"""The access that Kubernetes gives to every pod: its service account, mounted as files."""

import os
from collections.abc import Mapping
from pathlib import Path

from isthmus.kube.access import Access
from isthmus.kube.apiserver import ApiServer
from isthmus.kube.credentials import FileToken, read_token
from isthmus.kube.document import Place
from isthmus.kube.entries import read, url
from isthmus.kube.errors import BadConfig
from isthmus.kube.pem import check_certificates
from isthmus.model.addresses import bracketed
from isthmus.runtime.clock import Clock

MOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def load(environment: Mapping[str, str], clock: Clock, mount: Path = MOUNT) -> Access:
    """Return the access of the service account that this pod runs as."""
    place = Place("in-cluster configuration", "KUBERNETES_SERVICE_HOST")
    host = environment.get("KUBERNETES_SERVICE_HOST", "")
    port = environment.get("KUBERNETES_SERVICE_PORT", "")
    if not host or not port:
        raise BadConfig(
            "in-cluster configuration: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not "
            "set: this is not a pod; name a kubeconfig with --kubeconfig or KUBECONFIG"
        )
    # An IPv6 address stands in brackets in a URL (RFC 3986, 3.2.2), but not in the variable.
    address = url(f"https://{bracketed(host)}:{port}", place)
    authorities = _mounted(mount / "ca.crt")
    check_certificates(authorities, Place(str(mount / "ca.crt")))
    token = mount / "token"
    _mounted(token)
    read_token(token, str(token))
    return Access(
        context="in-cluster",
        server=ApiServer(url=address.geturl(), ca_pem=authorities),
        credentials=FileToken(token, clock),
        namespace=_mounted(mount / "namespace").decode("utf-8", "replace").strip() or "default",
    )


def _mounted(path: Path) -> bytes:
    if not os.path.exists(path):
        raise BadConfig(
            f"{path}: no such file; does the pod set automountServiceAccountToken: false?"
        )
    return read(path, Place(str(path)))
