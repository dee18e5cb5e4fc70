"""A server that answers is asked who it is before what it says is believed."""

import pytest

from isthmus.kube.client import Client
from isthmus.kube.errors import Forbidden, Garbled, Unauthorized
from isthmus.kube.pinned import IdentityChanged, Pinned
from isthmus.kube.resources import NAMESPACES, SERVICES
from isthmus.model.errors import IsthmusError
from isthmus.model.objects import Key
from tests.support.scripted import Says, Script, listing, named, refuses, says

WEST = "uid-of-west"


def namespace(uid: str, name: str = "kube-system") -> Says:
    metadata = {"name": name, "uid": uid}
    return says({"kind": "Namespace", "apiVersion": "v1", "metadata": metadata})


def pinned(script: Script, seen: list[str] | None = None) -> Client:
    def check(uid: str) -> None:
        if seen is not None:
            seen.append(uid)
        if uid != WEST:
            raise IdentityChanged(f"{uid} is not {WEST}")

    return Client(Pinned(script, check, moved=lambda: None))


async def test_a_list_is_believed_if_the_cluster_is_the_right_one() -> None:
    script = Script(listing(7, named("web", 3)), namespace(WEST))
    page = await pinned(script).list(SERVICES)
    assert [one.metadata.name for one in page.objects] == ["web"]


async def test_pages_of_one_list_ask_once() -> None:
    seen: list[str] = []
    script = Script(listing(7, named("a", 3), token="more"), namespace(WEST), listing(7))
    await pinned(script, seen).list(SERVICES)
    assert seen == [WEST]


async def test_of_another_cluster_nothing_is_believed_also_if_it_came_this_very_moment() -> None:
    """It is asked when it has begun to answer: before, another one may have been there."""
    script = Script(listing(7), namespace("uid-of-north"))
    with pytest.raises(IdentityChanged, match="uid-of-north"):
        await pinned(script).list(SERVICES)
    assert [one.path for one in script.requests] == [
        "/api/v1/services",
        "/api/v1/namespaces/kube-system",
    ]


async def test_the_identity_itself_is_read_without_asking_for_it_first() -> None:
    script = Script(namespace("uid-of-north"))
    found = await pinned(script).get(NAMESPACES, Key("", "kube-system"))
    assert found.metadata.uid == "uid-of-north"


@pytest.mark.parametrize(
    "answer, error",
    [
        pytest.param(refuses(401, "Unauthorized"), Unauthorized, id="credential refused"),
        pytest.param(refuses(403, "Forbidden"), Forbidden, id="may not look"),
        pytest.param(namespace(WEST, "default"), Garbled, id="another namespace"),
        pytest.param(namespace(""), Garbled, id="no UID"),
        pytest.param(says({"kind": "Status"}), Garbled, id="no namespace"),
        pytest.param(Says((b"x" * 100_000,)), Garbled, id="endless"),
        pytest.param(Says((b"\xff{",)), Garbled, id="garbage"),
    ],
)
async def test_a_cluster_that_does_not_say_who_it_is_is_not_believed(
    answer: Says, error: type[IsthmusError]
) -> None:
    with pytest.raises(error):
        await pinned(Script(listing(7), answer)).list(SERVICES)


async def test_who_is_done_closes_the_way_to_the_cluster() -> None:
    script = Script(namespace(WEST), listing(7))
    await Pinned(script, check=lambda _: None, moved=lambda: None).close()
    assert script.is_closed


async def test_what_was_read_of_one_cluster_is_not_gone_on_with_in_another_that_may_be_read() -> (
    None
):
    moves: list[str] = []
    north = namespace("uid-of-north")
    west = namespace(WEST)
    script = Script(listing(7), west, listing(9), north, listing(9), north, listing(8), west)
    client = Client(Pinned(script, check=lambda _: None, moved=lambda: moves.append("moved")))
    await client.list(SERVICES)
    for _ in range(2):
        with pytest.raises(IdentityChanged, match="all is to be read anew"):
            await client.list(SERVICES)
    assert moves == ["moved"]
    assert (await client.list(SERVICES)).resource_version == "8"
