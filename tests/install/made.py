"""Installations, and the way to single objects of them."""

from isthmus.install import objects
from isthmus.install.values import Values, parse
from isthmus.model.wire import JsonObject

NAMES = ("isthmus-controller", "isthmus-gateway", "isthmus-egress")


def values(*sets: str) -> Values:
    return parse(("clusterName=west", *sets))


def made(*sets: str) -> list[JsonObject]:
    return objects(values(*sets))


def chosen(found: list[JsonObject], kind: str, name: str = "") -> JsonObject:
    """The one object of that kind and name."""
    (one,) = [
        each
        for each in found
        if each["kind"] == kind and (not name or each["metadata"]["name"] == name)
    ]
    return one


def pod(found: list[JsonObject], name: str) -> JsonObject:
    """The spec of the pods of a workload."""
    spec: JsonObject = chosen(found, "Deployment", name)["spec"]["template"]["spec"]
    return spec


def container(found: list[JsonObject], name: str) -> JsonObject:
    (one,) = pod(found, name)["containers"]
    made: JsonObject = one
    return made
