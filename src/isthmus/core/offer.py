"""What a cluster says about one of its Services to clusters that have a Grant for it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from isthmus.core.export import digest
from isthmus.core.naming import carried
from isthmus.model.exports import Export, Refused
from isthmus.model.names import EXPORTED
from isthmus.model.objects import EndpointSlice, Service

NO = "false"


@dataclass(frozen=True, slots=True)
class Offer:
    """An export, or why there is none; the labels are what Grants and Links select by."""

    said: Export | Refused
    labels: Mapping[str, str]


def is_offered(service: Service) -> bool:
    """Tell whether somebody has marked ``service`` for export, with any value but "false".

    Which values a Link imports is for its own selector to say: the target does not know it. But
    nobody who says "false" means that others may call.
    """
    return service.metadata.labels.get(EXPORTED, NO) != NO


def is_awaited(service: Service, slices: Iterable[EndpointSlice]) -> bool:
    """Tell whether the pods of a headless Service are not known yet.

    Kubernetes makes a slice for every Service with a selector, be it without pods, and marks it as
    the Service is marked: a moment later. Until then a headless Service looks as if it had nobody
    to name, and its mirror would be of another shape, for that moment.
    """
    spec = service.spec
    return spec.cluster_ip == "None" and bool(spec.selector) and not tuple(slices)


def offer(service: Service, slices: Iterable[EndpointSlice]) -> Offer | None:
    """Return what there is to say about ``service``; None if it is not marked for export."""
    if not is_offered(service):
        return None
    found = digest(service, slices)
    said = carried(found) if isinstance(found, Export) else found
    return Offer(said, service.metadata.labels)
