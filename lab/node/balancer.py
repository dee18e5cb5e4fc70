"""``python -m lab.node.balancer NAME``: gives LoadBalancer Services the node's address.

That is all that a cloud would have to do here: kube-proxy takes in what arrives for an address
that a Service's status names.
"""

import json
import ssl
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import IO

from isthmus.model.wire import Json
from lab.clusters import Cluster, named
from lab.node.papers import ADMIN
from lab.node.settings import Places

PAUSE = 1.0  # seconds before asking again an API server that does not answer


def lacks(service: Json, address: str) -> bool:
    """Whether ``service`` should have ``address`` and does not."""
    spec, status = service["spec"], service.get("status") or {}
    wanted = [{"ip": address, "ipMode": "VIP"}]
    return spec.get("type") == "LoadBalancer" and (
        (status.get("loadBalancer") or {}).get("ingress") != wanted
    )


class Balancer:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        config = json.loads(Places(cluster.folder).kubeconfig(ADMIN).read_text())
        self._token = config["users"][0]["user"]["token"]
        self._trust = ssl.create_default_context(
            cafile=str(Places(cluster.folder).papers / "ca.crt")
        )

    def serve(self) -> None:
        """One round: what there is, then what changes, until the server ends the watch."""
        with self._ask("GET", "/api/v1/services") as answer:
            listed = json.load(answer)
        for service in listed["items"]:
            self._attend(service)
        for event in self._watch(listed["metadata"]["resourceVersion"]):
            if event["type"] in ("ADDED", "MODIFIED"):
                self._attend(event["object"])
            elif event["type"] == "ERROR":
                return

    def _watch(self, version: str) -> Iterator[Json]:
        path = f"/api/v1/services?watch=true&resourceVersion={version}&timeoutSeconds=240"
        with self._ask("GET", path) as answer:
            for line in answer:
                yield json.loads(line)

    def _attend(self, service: Json) -> None:
        if not lacks(service, self._cluster.address):
            return
        meta = service["metadata"]
        path = f"/api/v1/namespaces/{meta['namespace']}/services/{meta['name']}/status"
        ingress = [{"ip": self._cluster.address, "ipMode": "VIP"}]
        try:
            with self._ask("PATCH", path, {"status": {"loadBalancer": {"ingress": ingress}}}):
                print(f"{meta['namespace']}/{meta['name']}: {self._cluster.address}", flush=True)
        except urllib.error.HTTPError as error:
            if error.code != 404:  # it went while we looked at it
                raise

    def _ask(self, method: str, path: str, body: object = None) -> IO[bytes]:
        request = urllib.request.Request(self._cluster.url + path, method=method)
        request.add_header("Authorization", f"Bearer {self._token}")
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/merge-patch+json")
        opened: IO[bytes] = urllib.request.urlopen(request, timeout=300, context=self._trust)
        return opened


def main() -> None:
    balancer = Balancer(named(sys.argv[1]))
    while True:
        try:
            balancer.serve()
        except (OSError, ValueError) as error:  # away, or gone in the middle of a line
            print(f"asking again: {error}", flush=True)
            time.sleep(PAUSE)


if __name__ == "__main__":
    main()
