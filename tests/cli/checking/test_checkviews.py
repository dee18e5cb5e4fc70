"""What people and scripts are shown of checks."""

import msgspec
import pytest
import yaml

from isthmus.cli.checking import checkviews
from isthmus.cli.checking.checks import Check
from isthmus.cli.render import Style

FOUND = [
    Check(group="kubeconfig", name="kubeconfig can be read", detail="/tmp/k"),
    Check(group="kubeconfig", name="context is safe", outcome="warning", detail="TLS is off"),
    Check(
        group="kubernetes-api",
        name="API server can be reached",
        outcome="error",
        detail="connection refused",
        hint="is it running?",
    ),
]
TABLE = """\
kubeconfig
----------
√ kubeconfig can be read (/tmp/k)
‼ context is safe
    TLS is off

kubernetes-api
--------------
× API server can be reached
    connection refused
    hint: is it running?

Status check results are ×
"""  # noqa: RUF001  # the signs that all checks of this family use
SHORT = """\
‼ context is safe
    TLS is off
× API server can be reached
    connection refused
    hint: is it running?
Status check results are ×
"""  # noqa: RUF001


@pytest.mark.parametrize("output, expected", [("table", TABLE), ("short", SHORT)])
def test_checks_for_people(output: str, expected: str) -> None:
    assert checkviews.rendered(FOUND, output, Style()) == expected


def test_what_a_server_says_cannot_write_to_the_terminal() -> None:
    found = [Check(group="g", name="n", detail="v1.36\x1b]0;gotcha\x07\nok")]
    assert "√ n (v1.36 ]0;gotcha ok)\n" in checkviews.rendered(found, "table", Style())
    bad = "a\x1b[2J\nb"
    everywhere = Check(group=bad, name=bad, outcome="error", detail=bad, hint=bad)
    for output in ("table", "short"):
        said = checkviews.rendered([everywhere], output, Style())
        assert "\x1b" not in said
        assert "a [2J b" in said


@pytest.mark.parametrize("output", ["json", "yaml"])
def test_checks_for_scripts(output: str) -> None:
    text = checkviews.rendered(FOUND, output, Style())
    read = msgspec.json.decode(text) if output == "json" else yaml.safe_load(text)
    assert read["success"] is False
    assert [check["outcome"] for check in read["checks"]] == ["ok", "warning", "error"]
    assert read["checks"][2]["hint"] == "is it running?"
