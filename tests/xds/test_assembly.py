"""What proxies are told, put together from parts that come, change and go."""

from isthmus.xds.assembly import Assembly
from isthmus.xds.references import Reference
from isthmus.xds.resources import CLUSTER, Resource

WEB = Reference(CLUSTER, "web")


def cluster(version: str) -> Resource:
    return Resource(CLUSTER, "web", version, b"")


def version(assembly: Assembly) -> str | None:
    found = assembly.snapshot().of(CLUSTER).get("web")
    return None if found is None else found.version


def test_a_resource_is_of_the_part_that_brought_it_and_goes_with_it() -> None:
    assembly = Assembly()
    assert assembly.owner(WEB) is None
    assembly.put("old", [cluster("1")])
    assert (assembly.owner(WEB), version(assembly)) == ("old", "1")
    assembly.put("old", [])
    assert (assembly.owner(WEB), version(assembly)) == (None, None)


def test_a_part_that_goes_takes_nothing_along_that_another_has_taken_over() -> None:
    assembly = Assembly()
    assembly.put("old", [cluster("1")])
    assembly.put("new", [cluster("2")])
    assembly.put("old", [])
    assert (assembly.owner(WEB), version(assembly)) == ("new", "2")
