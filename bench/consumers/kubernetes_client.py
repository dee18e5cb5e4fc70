"""``kubernetes``, the official client: blocking, generated from the OpenAPI description."""

from collections.abc import Callable, Sequence, Sized

from kubernetes import client, config, watch

from bench.target import Target


def listing(target: Target, _variant: str) -> Sequence[Sized]:
    config.load_kube_config(target.kubeconfig)
    return (
        client.CoreV1Api().list_service_for_all_namespaces().items,
        client.DiscoveryV1Api().list_endpoint_slice_for_all_namespaces().items,
    )


def watching(target: Target, seen: Callable[[], bool]) -> None:
    config.load_kube_config(target.kubeconfig)
    events = watch.Watch().stream(
        client.CoreV1Api().list_service_for_all_namespaces, resource_version=target.since
    )
    for _ in events:
        if seen():
            return
