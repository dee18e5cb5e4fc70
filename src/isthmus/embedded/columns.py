"""The columns that ``kubectl get`` shows for the kinds Kubernetes itself defines."""

from collections.abc import Mapping

from isthmus.embedded.kinds import Column
from isthmus.model.wire import JsonObject


def _created(obj: JsonObject) -> object:
    return obj["metadata"].get("creationTimestamp")


AGE = Column(title="Age", cell=_created, type="date")

COLUMNS: Mapping[tuple[str, str], tuple[Column, ...]] = {}
