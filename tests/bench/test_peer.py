"""Other mirrors as commands: what stands for what, and what is said when it cannot be run."""

import subprocess
import sys

import pytest

from bench.kernel import family
from bench.mirroring.peer import Peer, peers
from bench.trial import Failed

PLACES = {"source": "/tmp/a b/source", "target": "/tmp/t", "cluster": "west", "folder": "/tmp/f"}


def test_placeholders_are_filled_in_word_by_word() -> None:
    (found,) = peers(["linkerd=mirror --kubeconfig {source} 'link {cluster}'"], [])
    assert found.name == "linkerd"
    assert found.argv(found.command, PLACES) == (
        *("mirror", "--kubeconfig", "/tmp/a b/source"),
        "link west",
    )


def test_a_preparation_belongs_to_the_peer_of_its_name() -> None:
    found = peers(["a=run", "b=walk"], ["b=apply -f {folder}/crds"])
    assert [one.prepare for one in found] == ["", "apply -f {folder}/crds"]


@pytest.mark.parametrize(
    "commands, preparations, why",
    [
        pytest.param(["linkerd"], [], "'linkerd' is not NAME=COMMAND", id="no command"),
        pytest.param(["=run"], [], "'=run' is not NAME=COMMAND", id="no name"),
        pytest.param(["a=run"], ["b=walk"], "there is no peer b to prepare for", id="a stranger"),
    ],
)
def test_what_cannot_be_understood_is_said(
    commands: list[str], preparations: list[str], why: str
) -> None:
    with pytest.raises(Failed, match=why):
        peers(commands, preparations)


def test_a_placeholder_that_nobody_knows_is_named() -> None:
    peer = Peer(name="a", command="run {sauce}")
    with pytest.raises(Failed, match=r"'sauce' in its command; it may have \{source\}"):
        peer.argv(peer.command, PLACES)


@pytest.mark.sockets
def test_what_a_peer_has_started_is_counted_with_it() -> None:
    code = (
        "import subprocess, sys; "
        "child = subprocess.Popen([sys.executable, '-c', 'input()'], stdin=0); "
        "print(child.pid, flush=True); child.wait()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert set(family(parent.pid)) == {parent.pid, child}
        parent.communicate("\n")
