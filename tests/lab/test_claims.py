"""Claims keep two labs apart, and die with their holder."""

import os
import socket

import pytest

from lab import claims
from lab.claims import NoPorts, claim, free_ports


def test_a_name_is_held_once_and_can_be_given_back() -> None:
    name = f"test/{os.getpid()}"
    first = claim(name)
    assert first is not None
    assert claim(name) is None
    first.close()
    again = claim(name)
    assert again is not None
    again.close()


def test_two_labs_never_share_a_port() -> None:
    with free_ports(3) as one, free_ports(3) as two:
        assert len({*one, *two}) == 6


def test_a_port_that_is_in_use_is_not_given_out(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        # The kernel picks one that nobody has, whatever else runs on this machine.
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        monkeypatch.setattr(claims, "PORTS", (port, *claims.PORTS))
        with free_ports(1) as (other,):
            assert other != port


def test_too_few_ports_are_a_clear_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "PORTS", ())
    with pytest.raises(NoPorts, match="0 of 3 ports"), free_ports(3):
        pass


def test_a_long_path_is_a_name_like_any_other() -> None:
    long = "folder/" + "d" * 300
    held = claim(long)
    assert held is not None
    with held:
        assert claim(long) is None
        other = claim(long + "d")
        assert other is not None
        other.close()
