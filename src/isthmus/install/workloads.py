"""What runs: three Deployments, and how many of their pods may be away at a time."""

from collections.abc import Iterator

from isthmus import __version__
from isthmus.install import pods
from isthmus.install.parts import VERSION, inside, selector
from isthmus.install.values import Values, Workload
from isthmus.model.names import CONTROLLER, EGRESS, GATEWAY
from isthmus.model.wire import JsonObject


def deployments(values: Values) -> Iterator[JsonObject]:
    yield _deployment(values, CONTROLLER, values.controller, pods.controller(values))
    yield _deployment(values, GATEWAY, values.gateway, pods.proxy(values, GATEWAY))
    yield _deployment(values, EGRESS, values.egress, pods.proxy(values, EGRESS))


def budgets(values: Values) -> Iterator[JsonObject]:
    """A budget for each workload of several pods; for a single one it would only stop the drain
    of its node."""
    for name, workload in _named(values):
        if values.replicas(workload) > 1:
            yield {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "metadata": inside(values, name),
                "spec": {
                    "maxUnavailable": 1,
                    "selector": selector(name),
                    # A pod that does not serve protects nobody by staying.
                    "unhealthyPodEvictionPolicy": "AlwaysAllow",
                },
            }


def _named(values: Values) -> tuple[tuple[str, Workload], ...]:
    return (
        (CONTROLLER, values.controller),
        (GATEWAY, values.gateway),
        (EGRESS, values.egress),
    )


def _deployment(values: Values, name: str, workload: Workload, template: JsonObject) -> JsonObject:
    metadata = inside(values, name)
    metadata["labels"][VERSION] = __version__
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata,
        "spec": {
            "replicas": values.replicas(workload),
            "selector": selector(name),
            # The next pod is there before one goes: even a single one is replaced without a gap.
            "strategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0},
            },
            "template": template,
        },
    }
