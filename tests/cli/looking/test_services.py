"""``isthmus services``, as it is typed and as it answers."""

from pathlib import Path

import msgspec
import pytest
import yaml

from isthmus.kube.resources import ENDPOINT_SLICES, LINKS, SERVICES
from isthmus.model.objects import Key
from isthmus.model.wire import JsonObject
from tests.apps.clusters import GRANTS, SLICES, Place, endpoints, exported
from tests.apps.clusters import LINKS as PLAIN_LINKS
from tests.apps.clusters import SERVICES as PLAIN_SERVICES
from tests.apps.clusters import link as plain_link
from tests.cli.joining.desk import rule
from tests.cli.looking.stage import Printed, Stage, stage, uninstalled
from tests.support.builders import export, headless, view
from tests.support.model import Source

pytestmark = pytest.mark.sockets

ALL = """\
EXPORTS
NAMESPACE   NAME   STATE     ENDPOINTS   GRANTED TO           REASON
default     dns    refused   0/0         north(default/job)   NoTCPPorts: service has only UDP ports; only TCP is carried
default     web    offered   2/2         north(default/job)   -

MIRRORS
LINK   NAMESPACE   NAME         STATE     ENDPOINTS   REMOTE                                     REASON
west   default     -            refused   -           big.default                                NameTaken: default/big-west exists
west   default     quiet-west   unready   0/1         quiet.default.svc.west.cluster.local       `isthmus why quiet-west` finds out why
west   default     set-0-west   ready     1/1         set-0.set.default.svc.west.cluster.local   -
west   default     set-west     ready     1/1         set.default.svc.west.cluster.local         -
"""  # noqa: E501  # as wide as it is


class _Endpoints(msgspec.Struct, forbid_unknown_fields=True):
    ready: int
    all: int


class _Granted(msgspec.Struct, forbid_unknown_fields=True):
    cluster: str
    from_: list[str] | None = msgspec.field(name="from")


class _Export(msgspec.Struct, forbid_unknown_fields=True):
    namespace: str
    name: str
    state: str
    endpoints: _Endpoints
    granted_to: list[_Granted] = msgspec.field(name="grantedTo")
    reason: str
    message: str


class _Mirror(msgspec.Struct, forbid_unknown_fields=True):
    link: str
    namespace: str
    name: str
    state: str
    endpoints: _Endpoints | None
    remote: str
    reason: str
    message: str


class Document(msgspec.Struct, forbid_unknown_fields=True):
    """The schema of ``-o json``."""

    exports: list[_Export]
    mirrors: list[_Mirror]


async def exporting(east: Place) -> None:
    """East exports two Services, one of which cannot be, to north."""
    dns = exported("dns")
    dns["spec"]["ports"][0]["protocol"] = "UDP"
    other = exported("other")
    del other["metadata"]["labels"]["mirror.linkerd.io/exported"]
    for one in (exported("web"), dns, other):
        await east.create(PLAIN_SERVICES, one)
    made = endpoints("web", "10.2.0.1", "10.2.0.2")
    made["metadata"]["labels"] |= {
        "mirror.linkerd.io/exported": "true",
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
    }
    await east.create(SLICES, made)
    spec = {"cluster": "north", "from": {"serviceAccounts": ["default/job"]}}
    await east.create(GRANTS, {"metadata": {"name": "north"}, "spec": spec})


async def importing(east: Place) -> None:
    """East imports from west: a set, something without pods, and something whose name is taken."""
    await east.create(PLAIN_LINKS, plain_link("west"))
    to = await east.client.get(LINKS, Key("", "west"))
    source = Source()
    source.namespaces = {"default": source.namespaces["shop"]}
    source.settle(
        view(
            to,
            headless("set", "set-0", namespace="default"),
            export("quiet", "default", ready=False),
        )
    )
    for service in source.services.values():
        bare = msgspec.structs.replace(
            service,
            metadata=msgspec.structs.replace(service.metadata, uid="", resource_version=""),
            spec=msgspec.structs.replace(
                service.spec,
                cluster_ip="None" if service.spec.cluster_ip == "None" else "",
                cluster_ips=(),
            ),
        )
        await east.client.create(SERVICES, bare)
    for one in source.slices.values():
        metadata = msgspec.structs.replace(one.metadata, uid="", resource_version="")
        await east.client.create(ENDPOINT_SLICES, msgspec.structs.replace(one, metadata=metadata))
    refused = {
        "namespace": "default",
        "name": "big",
        "reason": "NameTaken",
        "message": "default/big-west exists",
    }
    await give_status(east, {"refused": [refused], "refusedCount": 3, "mirrors": 3})


async def give_status(east: Place, status: JsonObject) -> None:
    await east.client.merge_patch(PLAIN_LINKS, Key("", "west"), {"status": status}, "status")


async def furnished(here: Stage) -> None:
    await exporting(here.east)
    await importing(here.east)


async def test_exports_and_mirrors_are_shown_with_reasons(tmp_path: Path, capsys: Printed) -> None:
    async with stage(tmp_path) as here:
        await furnished(here)
        assert await here.run("services") == 0
    printed = capsys.readouterr()
    assert printed.out == ALL
    assert printed.err == "link west refuses 2 more exports; its status names the first only\n"


async def test_half_of_it_needs_no_heading(tmp_path: Path, capsys: Printed) -> None:
    async with stage(tmp_path) as here:
        await furnished(here)
        assert await here.run("services", "--exports") == 0
        assert capsys.readouterr().out == "\n".join(ALL.splitlines()[1:4]) + "\n"
        assert await here.run("services", "--mirrors") == 0
        assert capsys.readouterr().out.startswith("LINK   NAMESPACE   NAME")


async def test_the_data_has_its_schema(tmp_path: Path, capsys: Printed) -> None:
    async with stage(tmp_path) as here:
        await furnished(here)
        assert await here.run("services", "-o", "json") == 0
        found = msgspec.json.decode(capsys.readouterr().out, type=Document)
        assert await here.run("services", "-o", "yaml") == 0
        assert msgspec.convert(yaml.safe_load(capsys.readouterr().out), Document) == found
    assert found.exports[1].endpoints == _Endpoints(2, 2)
    assert found.exports[1].granted_to == [_Granted("north", ["default/job"])]
    assert [one.state for one in found.mirrors] == ["refused", "unready", "ready", "ready"]


async def test_what_is_not_asked_for_is_left_out(tmp_path: Path, capsys: Printed) -> None:
    async with stage(tmp_path) as here:
        await furnished(here)
        for words, exports, mirrors in (
            ("-A", 2, 4),
            ("-n default", 2, 4),
            ("-n kube-system", 0, 0),
            ("--link west", 0, 4),
            ("--link north", 2, 0),  # which has a Grant
            ("--exports --mirrors", 2, 4),
        ):
            assert await here.run("services", "-o", "json", *words.split()) == 0
            printed = capsys.readouterr()
            found = msgspec.json.decode(printed.out, type=Document)
            assert (len(found.exports), len(found.mirrors)) == (exports, mirrors), words
            assert ("-A looks at all" in printed.err) == (exports + mirrors == 0)


async def test_the_namespace_is_the_contexts_unless_it_is_said(
    tmp_path: Path, capsys: Printed
) -> None:
    async with stage(tmp_path) as here:
        await exporting(here.east)
        config = yaml.safe_load(here.desk.config.read_text())
        for one in config["contexts"]:
            one["context"]["namespace"] = "elsewhere"
        here.desk.config.write_text(yaml.safe_dump(config))
        assert await here.run("services") == 0
        assert "namespace elsewhere" in capsys.readouterr().err


async def test_mistakes_are_named(tmp_path: Path, capsys: Printed) -> None:
    async with stage(tmp_path) as here:
        for words, code, said in (
            ("-n a -A", 2, "exclude each other"),
            ("--link south", 1, "neither a Link nor a Grant for south here; known are: none"),
            ("--context none", 1, "there is no context none"),
            ("-n ÜÜ", 2, "'ÜÜ' is not the name of a namespace"),
        ):
            assert await here.run("services", *words.split()) == code
            printed = capsys.readouterr()
            assert printed.out == ""
            assert said in printed.err


async def test_a_cluster_that_knows_no_links_is_told_from_an_empty_one(
    tmp_path: Path, capsys: Printed
) -> None:
    async with stage(tmp_path) as here:
        await uninstalled(here.east, "grants")
        assert await here.run("services") == 1
        assert "knows no Grants: Isthmus is not installed in it" in capsys.readouterr().err
        await uninstalled(here.east, "links")
        assert await here.run("services") == 1
        assert "knows no Links: Isthmus is not installed in it" in capsys.readouterr().err


async def test_who_may_not_look_is_told_what_is_missing(tmp_path: Path, capsys: Printed) -> None:
    async with stage(tmp_path) as here:
        ours = rule("isthmus.dev", "*", "list")
        await here.desk.become(here.east, ours)
        assert await here.run("services", "-A") == 1
    assert 'cannot list resource "services"' in capsys.readouterr().err


async def test_without_a_cluster_one_line_says_so(tmp_path: Path, capsys: Printed) -> None:
    async with stage(tmp_path) as here:
        desk = here.desk
    assert await desk.run("services") == 75
    printed = capsys.readouterr()
    assert printed.err.count("\n") == 1
    assert "connection refused" in printed.err
