"""No link of a document leads nowhere."""

from pathlib import Path

import pytest

from tests.docs.reading import DOCUMENTS, anchors, links, name


def broken(path: Path, target: str) -> bool:
    """Whether a link to a file of ours, or to a heading of one, leads nowhere."""
    if target.startswith(("https://", "mailto:")):
        return False
    place, _, anchor = target.partition("#")
    file = (path.parent / place).resolve() if place else path
    if not file.exists():
        return True
    return bool(anchor) and anchor not in anchors(file.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", DOCUMENTS, ids=name)
def test_every_link_leads_somewhere(path: Path) -> None:
    targets = links(path.read_text(encoding="utf-8"))
    assert [one for one in targets if broken(path, one)] == []


@pytest.mark.parametrize(
    "target, expected",
    [
        ("there.md", False),
        ("there.md#a-heading-of-two-words", False),
        ("#here", False),
        ("https://example.org/x", False),
        ("missing.md", True),
        ("there.md#no-such-heading", True),
        ("#nor-here", True),
        ("http://example.org", True),
    ],
)
def test_a_link_that_leads_nowhere_is_noticed(target: str, expected: bool, tmp_path: Path) -> None:
    (tmp_path / "there.md").write_text("# A heading, of *two* `words`\n")
    here = tmp_path / "here.md"
    here.write_text("## Here\n")
    assert broken(here, target) == expected


def test_links_in_code_are_none() -> None:
    text = "[a](b.md) `[c](d.md)`\n\n```text\n[e](f.md)\n```\n[g](h.md#i)\n"
    assert list(links(text)) == ["b.md", "h.md#i"]
