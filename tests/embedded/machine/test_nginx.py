"""The real nginx, where it is installed, says what our own small server says."""

import shutil

import pytest

from isthmus.embedded.machine import nginx
from isthmus.embedded.machine.programs import PROGRAMS, Programs
from tests.support.machine import Reply, call, pod, running

pytestmark = pytest.mark.sockets

CERTIFICATE = "By=spiffe://west;URI=spiffe://east/ns/default/sa/curl"


async def asked(programs: Programs) -> Reply:
    """What a pod of the image says."""
    async with running(pod("web", "nginx:1.27"), pod("curl"), programs=programs) as (
        machine,
        kubectl,
    ):
        _, web = await kubectl.until_ready("curl", "web")
        url = f"http://{web.status.pod_ip}/"
        return await call(machine, "curl", url, headers={"x-forwarded-client-cert": CERTIFICATE})


@pytest.mark.skipif(shutil.which("nginx") is None, reason="no nginx on this machine")
async def test_both_servers_say_who_they_are_and_what_they_were_told() -> None:
    real = await asked({**PROGRAMS, **nginx.programs()})
    ours = await asked(PROGRAMS)
    assert real.headers["server"].startswith("nginx")
    assert not ours.headers["server"].startswith("nginx")
    for reply in (real, ours):
        assert (reply.status, reply.greeting) == (200, "web")
        assert reply.told["x-forwarded-client-cert"] == CERTIFICATE
    assert real.told.keys() == ours.told.keys()


def test_without_nginx_there_is_only_our_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    assert nginx.programs() == {}
