"""What the product's own image is told on this machine."""

import pytest

from isthmus.apps.proxy.config import BadOption
from isthmus.embedded.machine.records import Unresolved
from isthmus.embedded.mesh.program import adapted
from isthmus.install.pods import controller, proxy
from isthmus.install.values import Values
from isthmus.model.names import EGRESS, GATEWAY
from isthmus.model.wire import JsonObject

VALUES = Values(cluster_name="west", cluster_domain="west.cluster.local")
NAME = "isthmus-controller.isthmus.svc.west.cluster.local"
IP = "127.1.2.3"


def resolve(name: str) -> tuple[str, ...]:
    if name != NAME:
        raise Unresolved(f"{name}: no such name")
    return ("127.1.0.9",)


def words(template: JsonObject) -> tuple[str, ...]:
    (container,) = template["spec"]["containers"]
    assert "command" not in container, "the image's own entry point is meant"
    return tuple(container["args"])


def test_a_controller_opens_its_ports_at_its_own_address() -> None:
    told = words(controller(VALUES))
    assert adapted(told, IP, resolve) == [*told, "--address", IP, "--allow-loopback"]


@pytest.mark.parametrize("name", [GATEWAY, EGRESS])
def test_a_proxy_is_told_addresses_instead_of_names_and_nothing_else_is_changed(name: str) -> None:
    told = words(proxy(VALUES, name))
    found = adapted(told, IP, resolve)
    assert found[: len(told)] == [word.replace(NAME, "127.1.0.9") for word in told]
    assert found[len(told) :] == ["--address", IP, "--metrics", f"{IP}:9991"]
    assert "127.1.0.9:8443" in found
    assert "127.1.0.9:8444" in found


def test_the_port_for_metrics_stays_the_one_that_was_chosen() -> None:
    assert adapted(("proxy", "--metrics", "0.0.0.0:9999"), IP, resolve)[-1] == f"{IP}:9999"


def test_the_entry_point_may_be_said() -> None:
    assert adapted(("isthmus", "controller"), IP, resolve)[0] == "controller"


def test_a_name_that_is_not_there_yet_is_no_reason_to_ask_somebody_else() -> None:
    with pytest.raises(Unresolved):
        adapted(("proxy", "--controller", "elsewhere.example:8443"), IP, resolve)
    with pytest.raises(BadOption):
        adapted(("proxy", "--ads", "nonsense"), IP, resolve)
