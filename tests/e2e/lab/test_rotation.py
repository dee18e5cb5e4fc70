"""A new trust anchor in clusters that are in use: nobody who calls notices."""

import pytest

from lab.stage import Stage
from tests.e2e.lab.load import Load, failed

pytestmark = pytest.mark.e2e


def anchors(stage: Stage, context: str) -> str:
    trust = stage.read(context, "configmap", "isthmus-trust", "--namespace", "isthmus")
    return "".join(trust["data"].values())


def test_no_call_fails_while_the_anchor_is_replaced(web: Stage, calls: Load) -> None:
    before = anchors(web, "east")
    web.run("isthmus", "trust", "create", "--out", "new-anchor")
    both = ("--context", "east", "--context", "west")
    web.run("isthmus", "trust", "rotate", "run", *both, "--new", "new-anchor", timeout=1500)
    calls.goes_on()
    assert failed(calls.calls()) == []
    web.run("rm", "-r", "anchor")
    web.run("mv", "new-anchor", "anchor")
    new = (web.folder / "anchor" / "anchor.crt").read_text()
    for context in ("east", "west"):
        assert anchors(web, context).strip() == new.strip() != before.strip()
        web.isthmus(context, "check", "--wait", "120")
