"""How a page is read: what of it is typed, what is seen, and when both agree."""

import pytest

from tests.e2e.lab.transcript import agrees, steps

PAGE = """\
## One

Words. `$ not this` and:

```console
$ first --flag
seen
$ second - <<'EOF'
$ not a command
EOF
third
$ for one in a b; do
    say $one
  done
```

```yaml
$ nor this
```

## Two

```console
$ last
```
"""


def test_a_page_is_read_as_its_readers_would_type_it() -> None:
    assert [(step.section, step.command, step.shown) for step in steps(PAGE)] == [
        ("One", "first --flag", ("seen",)),
        ("One", "second - <<'EOF'\n$ not a command\nEOF", ("third",)),
        ("One", "for one in a b; do\n    say $one\n  done", ()),
        ("Two", "last", ()),
    ]


@pytest.mark.parametrize(
    "shown, seen, expected",
    [
        pytest.param((), "anything\n", True, id="nothing is promised"),
        pytest.param(("a",), "a\n", True, id="the same"),
        pytest.param(("a",), "b\n", False, id="something else"),
        pytest.param(("a",), "a\nb\n", False, id="more than is shown"),
        pytest.param(("a", "…", "z"), "a\nb\nc\nz\n", True, id="some lines left out"),
        pytest.param(("a", "…", "z"), "a\nz\n", True, id="no line left out"),
        pytest.param(("…", "a", "z"), "b\na\nc\nz\nd\n", True, id="lines left out in many places"),
        pytest.param(("…", "z", "a"), "a\nz\n", False, id="another order"),
        pytest.param(("svc  10.43.0.1  9m",), "svc 10.231.0.1 11s\n", True, id="addresses, ages"),
        pytest.param(
            ("until 2036-11-14T12:45:55Z:",), "until 2026-01-01T00:00:00Z:", True, id="time"
        ),
        pytest.param(("NAME   READY",), "NAME READY", True, id="width of columns"),
        pytest.param(("3/3",), "2/3", False, id="counts are promises"),
        pytest.param(
            ("leads (web-68867c6975-bnh54_d84aebea-8bd2-46d7-9f67-8638302e0c1f)",),
            "leads (web-5889555df9-s2bzv_6f3daa5d-c5b2-40b4-8203-cdd840c4b558)",
            True,
            id="pods and UIDs",
        ),
        pytest.param(("within 15.9 ms, 121B",), "within 8 ms, 3.2KiB", True, id="while, bytes"),
    ],
)
def test_what_is_seen_agrees_with_what_is_shown(
    shown: tuple[str, ...], seen: str, expected: bool
) -> None:
    assert agrees(shown, seen) == expected
