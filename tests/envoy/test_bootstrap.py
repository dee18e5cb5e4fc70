"""What an Envoy starts with: accepted by the real one, and nothing more than it must be."""

import asyncio
import json
import re
from pathlib import Path
from random import Random
from typing import Literal

import pytest

from isthmus.envoy.bootstrap import LABELS, Proxy, bootstrap
from isthmus.envoy.process import program
from isthmus.xds import secrets
from isthmus.xds.names import ANCHORS_FILE, OWN_FILE
from tests.envoy.talking import ANCHORS, CONTROLLER, GATEWAY, keep
from tests.support import pki

Role = Literal["gateway", "egress"]


def proxy(role: Role = "gateway", controller: str = "127.0.0.1") -> Proxy:
    return Proxy(
        name="west-0",
        role=role,
        cluster="west",
        controller=(controller, 8444),
        controller_identity=str(CONTROLLER),
        metrics=("127.0.0.1", 9991),
    )


@pytest.mark.sockets
@pytest.mark.parametrize("role", ["gateway", "egress"])
@pytest.mark.parametrize("controller", ["10.0.0.1", "fd00::1", "isthmus-controller.isthmus.svc"])
async def test_envoy_accepts_it(tmp_path: Path, role: Role, controller: str) -> None:
    shown = pki.credentials(GATEWAY)
    keep(tmp_path / OWN_FILE, secrets.own(shown.chain_pem, shown.key_pem))
    keep(tmp_path / ANCHORS_FILE, secrets.anchors(ANCHORS))
    (tmp_path / "bootstrap.json").write_bytes(bootstrap(proxy(role, controller)))
    envoy = await asyncio.create_subprocess_exec(
        *(str(program()), "--mode", "validate", "--config-path", "bootstrap.json"),
        *("--base-id", str(Random().randrange(1, 2**20))),
        cwd=tmp_path,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await envoy.communicate()
    assert envoy.returncode == 0, said.decode()
    assert b"deprecated" not in said.lower()


def test_nothing_in_it_is_secret_and_the_admin_interface_is_a_socket_for_its_own_user() -> None:
    text = bootstrap(proxy())
    assert b"PRIVATE KEY" not in text
    assert b"inline" not in text
    admin = json.loads(text)["admin"]["address"]
    assert admin == {"pipe": {"path": "./admin.sock", "mode": 0o600}}


def test_the_controller_must_prove_to_be_the_one_that_is_meant() -> None:
    clusters = json.loads(bootstrap(proxy()))["static_resources"]["clusters"]
    (controller,) = (one for one in clusters if one["name"] == "controller")
    common = controller["transport_socket"]["typed_config"]["common_tls_context"]
    checked = common["combined_validation_context"]["default_validation_context"]
    assert checked["match_typed_subject_alt_names"] == [
        {"san_type": "URI", "matcher": {"exact": str(CONTROLLER)}}
    ]


def test_the_first_answers_are_waited_for_without_end() -> None:
    """Otherwise a proxy that was told nothing would call itself ready after half a minute."""
    sources = json.loads(bootstrap(proxy()))["dynamic_resources"]
    for kind in ("cds_config", "lds_config"):
        assert sources[kind]["initial_fetch_timeout"] == "0s"


def test_every_label_has_a_group_to_leave_out_and_one_to_keep() -> None:
    """Envoy takes the first group out of the name and the second as the value."""
    for regexes in LABELS.values():
        assert {re.compile(regex).groups for regex in regexes} == {2}


@pytest.mark.parametrize(
    "name, left, labels",
    [
        pytest.param(
            "cluster.in|shop|web.upstream_rq_2xx",
            "cluster.upstream_rq",
            {"direction": "in", "namespace": "shop", "service": "web", "status_class": "2xx"},
            id="an exported service",
        ),
        pytest.param(
            "cluster.out|west.upstream_cx_total",
            "cluster.upstream_cx_total",
            {"direction": "out", "link": "west"},
            id="a link",
        ),
        *(
            pytest.param(
                f"{kind}.out|west|shop|web-west.downstream_cx_total",
                f"{kind}.downstream_cx_total",
                {"direction": "out", "link": "west", "namespace": "shop", "service": "web-west"},
                id=f"a mirror, {kind}",
            )
            for kind in ("tcp", "http")
        ),
        pytest.param("http.gateway.no_route", "http.gateway.no_route", {}, id="a gateway"),
    ],
)
def test_names_of_statistics_become_labels(name: str, left: str, labels: dict[str, str]) -> None:
    found = {
        label: match
        for label, regexes in LABELS.items()
        for regex in regexes
        if (match := re.search(regex, name))
    }
    assert {label: match[2] for label, match in found.items()} == labels
    for begin, end in sorted((match.span(1) for match in found.values()), reverse=True):
        name = name[:begin] + name[end:]
    assert name == left
