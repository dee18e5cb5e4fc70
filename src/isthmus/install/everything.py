"""All objects of an installation, in the order in which they are applied."""

from isthmus.install import access, admission, memory, network, papers, parts, workloads
from isthmus.install.definitions import definitions
from isthmus.install.values import Issuer, Trust, Values
from isthmus.model.wire import JsonObject

_KEPT = ("ConfigMap", "CustomResourceDefinition", "Namespace", "Secret")


def objects(values: Values) -> list[JsonObject]:
    """Everything, each after what it needs: who may do what, and what keeps it from doing more,
    before anything runs."""
    return [
        *([parts.namespace(values)] if values.create_namespace else []),
        *definitions(),
        *access.accounts(values),
        *access.rights(values),
        *(admission.policy(values) if values.admission_policy.enabled else ()),
        *(network.policies(values) if values.network_policy.enabled else ()),
        *papers.papers(values),
        memory.memory(values),
        *network.services(values),
        *workloads.budgets(values),
        *workloads.deployments(values),
    ]


def possible(namespace: str) -> list[JsonObject]:
    """Everything that an installation can have made, whatever its values were; only by name."""
    any_text = "any"
    trust = Trust(anchors=any_text, issuer=Issuer(certificate=any_text, key=any_text))
    most = Values(cluster_name=any_text, namespace=namespace, ha=True, trust=trust)
    return [bare(one) for one in objects(most)]


def superseded(values: Values) -> list[JsonObject]:
    """What other values may have made before, and these do without. What a cluster trusts and
    signs with is not among it, nor is what holds other people's objects."""
    wanted = {identity(one) for one in objects(values)}
    return [
        one
        for one in possible(values.namespace)
        if identity(one) not in wanted and one["kind"] not in _KEPT
    ]


def identity(obj: JsonObject) -> tuple[str, str, str]:
    """What tells one object of an installation from all others."""
    metadata = obj["metadata"]
    return obj["kind"], metadata.get("namespace", ""), metadata["name"]


def bare(obj: JsonObject) -> JsonObject:
    """An object that says only which it is, for whoever looks for it or deletes it."""
    named = {key: obj["metadata"][key] for key in ("name", "namespace") if key in obj["metadata"]}
    return {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": named}
