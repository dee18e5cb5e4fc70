"""``isthmus allow`` and ``isthmus deny``: who is let in, exactly."""

import json
from pathlib import Path

import pytest
import yaml

from isthmus.cli import main
from isthmus.cli.joining.granting import NotAsAsked, allow, grants_for
from isthmus.cli.joining.scope import Scope
from isthmus.embedded.kinds.schemarules import judged
from isthmus.kube.plain import KINDS
from isthmus.model.grants import From, GrantSpec, To
from isthmus.model.wire import JsonObject
from tests.apps.clusters import GRANTS, Place, furnish, place
from tests.cli.joining.desk import desk, rule
from tests.support.definitions import schema

Printed = pytest.CaptureFixture[str]

GOLDEN = """\
apiVersion: isthmus.dev/v1alpha1
kind: Grant
metadata:
  name: east
spec:
  cluster: east
  from:
    serviceAccounts:
    - default/curl
  to:
    services:
    - default/web
"""


def printed(capsys: Printed, *words: str) -> JsonObject:
    assert main.run(["allow", *words]) == 0
    found: JsonObject = yaml.safe_load(capsys.readouterr().out)
    assert list(judged(schema("grants"), found)) == []
    return found


def test_the_grant_is_printed(capsys: Printed) -> None:
    words = ["east", "--from-service-account", "default/curl", "--to-service", "default/web"]
    assert main.run(["allow", *words]) == 0
    assert capsys.readouterr().out == GOLDEN
    assert main.run(["allow", *words, "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == yaml.safe_load(GOLDEN)


@pytest.mark.parametrize(
    "words, spec",
    [
        ([], {}),
        (["--from-namespace", "a", "--from-namespace", "b"], {"from": {"namespaces": ["a", "b"]}}),
        (["--to-namespace", "a"], {"to": {"namespaces": ["a"]}}),
        (
            ["--to-selector", "tier=front,!internal"],
            {
                "to": {
                    "selector": {
                        "matchLabels": {"tier": "front"},
                        "matchExpressions": [{"key": "internal", "operator": "DoesNotExist"}],
                    }
                }
            },
        ),
    ],
)
def test_options_are_the_fields_of_a_grant(
    capsys: Printed, words: list[str], spec: JsonObject
) -> None:
    assert printed(capsys, "east", *words)["spec"] == {"cluster": "east"} | spec


def test_a_grant_can_have_another_name(capsys: Printed) -> None:
    found = printed(capsys, "east", "--name", "east-shop")
    assert (found["metadata"]["name"], found["spec"]["cluster"]) == ("east-shop", "east")


@pytest.mark.parametrize(
    "words, code, complaint",
    [
        (["East"], 2, "'East' is not the name of a cluster"),
        (["east", "--from-namespace", "A"], 2, "namespaces: A is not the name of a namespace"),
        (["east", "--from-service-account", "curl"], 2, "curl is not written as namespace/name"),
        (["east", "--to-service", "web"], 2, "to.services: web is not written as namespace/name"),
        (["east", "--to-selector", "a b"], 2, "'a b' is not a selector, such as app=web"),
        (["east", "--to-selector", "a=/"], 2, "to.selector: a=/ is not a label"),
        (["east", "--to-selector", "Ü"], 2, "'Ü' cannot be the key of a label, such as app"),
        (["east", "--to-selector", "!-"], 2, "'-' cannot be the key of a label, such as app"),
        (["east", "--from-namespace", ""], 2, "--from-namespace is empty; leave it out to"),
        (["east", "--to-service", ""], 2, "--to-service is empty; leave it out to restrict"),
        (["east", "--name", "Ü"], 2, "'Ü' is not a name that a Grant can have: lower-case"),
        (["east", "--name", ""], 2, "'' is not a name that a Grant can have: lower-case"),
    ],
)
def test_mistakes_are_named(capsys: Printed, words: list[str], code: int, complaint: str) -> None:
    assert main.run(["allow", *words]) == code
    assert complaint in capsys.readouterr().err


async def target() -> Place:
    west = place("west")
    await furnish(west)
    return west


NARROW = GrantSpec(cluster="east", from_=From(service_accounts=("default/curl",)))
WIDE = GrantSpec(cluster="east")
ONE = GrantSpec(cluster="east", to=To(services=("default/web",)))


async def test_a_grant_follows_what_is_asked_for_and_the_same_again_is_no_write() -> None:
    west = await target()
    for spec, outcome in ((NARROW, "created"), (WIDE, "configured"), (ONE, "configured")):
        for expected in (outcome, "unchanged"):
            change = await allow(west.client, "east", spec, force=False)
            assert change.outcome == expected
        (found,) = await grants_for(west.client, "east")
        assert found.spec == spec


@pytest.mark.parametrize(
    "theirs, ours, line",
    [
        pytest.param(
            {"from": {"serviceAccounts": ["default/curl"]}}, WIDE, "from.serviceAccounts",
            id="everything was asked for, and little would be given",
        ),
        pytest.param(
            {"to": {"services": ["default/web", "bank/vault"]}}, ONE, "to.services",
            id="little was asked for, and more would be given",
        ),
        pytest.param({"from": {"namespaces": []}}, WIDE, "from.namespaces", id="nobody"),
    ],
)  # fmt: skip
async def test_what_others_have_written_is_neither_mixed_with_ours_nor_overwritten(
    theirs: JsonObject, ours: GrantSpec, line: str
) -> None:
    west = await target()
    made = await west.create(
        GRANTS, {"metadata": {"name": "east"}, "spec": {"cluster": "east"} | theirs}
    )
    with pytest.raises(NotAsAsked, match=rf"somebody else has set {line}, which stays; .* --name"):
        await allow(west.client, "east", ours, force=True)
    assert await west.get(GRANTS, "east") == made


def test_no_scope_is_no_restriction() -> None:
    assert Scope().spec("east") == WIDE


@pytest.mark.sockets
async def test_allow_and_deny_and_again(tmp_path: Path, capsys: Printed) -> None:
    async with desk(tmp_path) as here:
        west = ("--context", "west")
        for words in (("allow", "east"), ("allow", "east", "--name", "also")):
            for expected in ("created", "unchanged"):
                assert await here.run(*west, *words, "--apply") == 0
                name = words[-1]
                assert capsys.readouterr().out == f"grant.isthmus.dev/{name} {expected}\n"
        assert await here.run(*west, "allow", "north", "--apply") == 0
        capsys.readouterr()

        assert await here.run(*west, "deny", "east") == 0
        shown = list(yaml.safe_load_all(capsys.readouterr().out))
        assert [one["metadata"] for one in shown] == [{"name": "also"}, {"name": "east"}]
        assert await here.run(*west, "deny", "east", "-o", "json") == 0
        assert json.loads(capsys.readouterr().out)["items"] == shown

        assert await here.run(*west, "deny", "east", "--apply") == 0
        assert capsys.readouterr().out == (
            "grant.isthmus.dev/also deleted\ngrant.isthmus.dev/east deleted\n"
        )
        assert await here.run(*west, "deny", "east", "--apply") == 0
        assert capsys.readouterr() == ("", "no Grant lets east in: nothing to do\n")
        assert [one["metadata"]["name"] for one in await here.west.all(GRANTS)] == ["north"]


@pytest.mark.sockets
async def test_where_there_are_no_grants_it_is_said_how_they_come(
    tmp_path: Path, capsys: Printed
) -> None:
    async with desk(tmp_path) as here:
        await here.west.delete(KINDS["CustomResourceDefinition"], "grants.isthmus.dev")
        for command in ("allow", "deny"):
            assert await here.run("--context", "west", command, "east", "--apply") == 1
            complaint = capsys.readouterr().err
            assert "this cluster knows no Grants" in complaint
            assert "`isthmus install --apply` brings what is missing" in complaint


@pytest.mark.sockets
async def test_who_may_not_is_told_so(tmp_path: Path, capsys: Printed) -> None:
    async with desk(tmp_path) as here:
        await here.run("--context", "west", "allow", "east", "--apply")
        reads = [rule("isthmus.dev", kind, "get", "list") for kind in ("links", "grants")]
        await here.become(here.west, *reads)
        for words, verb in ((("allow", "north"), "patch"), (("deny", "east"), "delete")):
            assert await here.run("--context", "west", *words, "--apply") == 1
            assert f'cannot {verb} resource "grants"' in capsys.readouterr().err
