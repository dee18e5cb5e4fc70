"""All objects of an installation, in the order in which they are applied."""

from isthmus.install import access, admission, network, papers, parts, workloads
from isthmus.install.definitions import definitions
from isthmus.install.values import Values
from isthmus.model.wire import JsonObject


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
        *network.services(values),
        *workloads.budgets(values),
        *workloads.deployments(values),
    ]
