"""What counts as an answer that makes the demo's story true, and what does not."""

import pytest

from isthmus.cli.showing.answers import answered_by, has, mirrors, row, rows, running
from isthmus.cli.showing.stage import Holds

PODS = """\
NAME          READY   STATUS    RESTARTS   AGE
nginx-set-0   1/1     Running   0          6s
nginx-set-1   {}     {}   0          4s"""
GATEWAYS = """\
CLUSTER   ALIVE   NUM_SVC   LATENCY
west      False   4         -"""
SERVICES = """\
NAME               TYPE        CLUSTER-IP     EXTERNAL-IP   PORT(S)   AGE
kubernetes         ClusterIP   127.251.0.1    <none>        443/TCP   72s
nginx-set-0-west   ClusterIP   127.251.0.86   <none>        80/TCP    0s
nginx-svc-west     ClusterIP   None           <none>        80/TCP    0s"""
MIRRORS = """\
LINK   NAMESPACE   NAME               STATE   ENDPOINTS   REMOTE
west   default     nginx-set-0-west   ready   1/1         nginx-set-0.nginx-svc.default.svc.west.a
west   default     nginx-svc-west     ready   1/1         nginx-svc.default.svc.west.local"""
PAGE = """\
Welcome, this is nginx-set-0
host: nginx-set-0.nginx-svc-west
x-forwarded-client-cert: By=spiffe://west.isthmus/x;URI=spiffe://east.isthmus/ns/default/sa/{}"""


@pytest.mark.parametrize(
    "holds, answer, expected",
    [
        pytest.param(running(2), PODS.format("1/1", "Running"), True, id="all run"),
        pytest.param(running(2), PODS.format("0/1", "Running"), False, id="one is not ready"),
        pytest.param(running(2), PODS.format("1/1", "Pending"), False, id="one does not run"),
        pytest.param(running(3), PODS.format("1/1", "Running"), False, id="one is missing"),
        pytest.param(running(1), "No resources found in default namespace.", False, id="none"),
        pytest.param(row("west", alive="False", num_svc="4"), GATEWAYS, True, id="says so"),
        pytest.param(row("west", alive="True"), GATEWAYS, False, id="says something else"),
        pytest.param(row("east", alive="False"), GATEWAYS, False, id="about another"),
        pytest.param(mirrors(1), SERVICES, True, id="all mirrors"),
        pytest.param(mirrors(1), MIRRORS, True, id="all mirrors, in our own table"),
        pytest.param(mirrors(2), SERVICES, False, id="a mirror is missing"),
        pytest.param(mirrors(0), SERVICES, False, id="a mirror too many"),
        pytest.param(mirrors(None), SERVICES, False, id="mirrors that should be gone"),
        pytest.param(mirrors(None), SERVICES.partition("nginx")[0], True, id="mirrors are gone"),
        pytest.param(answered_by("nginx-set-0"), PAGE.format("curl"), True, id="that pod"),
        pytest.param(answered_by("nginx-set-1"), PAGE.format("curl"), False, id="another pod"),
        pytest.param(answered_by("nginx-set-0"), PAGE.format("other"), False, id="another caller"),
        pytest.param(answered_by("nginx-set-0"), "", False, id="nobody"),
        pytest.param(
            answered_by("nginx-set-0"), PAGE.partition("x-")[0], False, id="nobody was told"
        ),
        pytest.param(has("a", "b"), "b and a", True, id="both"),
        pytest.param(has("a", "b"), "only a", False, id="one of them"),
    ],
)
def test_only_what_was_meant_holds(holds: Holds, answer: str, expected: bool) -> None:
    assert holds(answer) is expected


def test_a_cell_may_be_empty_and_have_spaces_in_it() -> None:
    table = "NAME   GRANTED TO   REASON\nweb           x y          -\n"
    assert rows("NAME   GRANTED TO   REASON\nweb    a b          \n") == {
        "web": {"name": "web", "granted to": "a b", "reason": ""}
    }
    assert rows(table)["web"]["name"] == "web"
    assert rows("") == {}
