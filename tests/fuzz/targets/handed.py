"""What people hand to commands, and what pages commands read."""

import msgspec

from isthmus.cli.joining import selecting, settings
from isthmus.cli.joining.planning import NotALink, read_link
from isthmus.cli.joining.selecting import BadSelector
from isthmus.cli.joining.settings import BadSetting
from isthmus.cli.looking.exposition import NotNumbers, numbers
from isthmus.install import values
from isthmus.install.documents import BadValue
from isthmus.model import yamls
from isthmus.model.links import Link
from isthmus.model.pages import Probe, Proxies
from isthmus.model.wire import UNREADABLE
from isthmus.model.yamls import BadYaml, Taken
from tests.fuzz.target import refusing, target, text_of


@target
def values_of_an_installation(data: bytes) -> None:
    text = text_of(data)
    with refusing(BadValue):
        values.parse(["clusterName=west"], {"values.yaml": text})
    with refusing(BadValue):
        values.parse(text.split("\n"))


@target
def link_in_a_file(data: bytes) -> None:
    with refusing(BadYaml, NotALink, BadSetting):
        document = yamls.read(text_of(data), Taken("a Link", yamls.scalar))
        if isinstance(document, dict):
            assert isinstance(read_link(document), Link)


@target
def settings_of_a_link(data: bytes) -> None:
    with refusing(BadSetting):
        settings.gathered("Link", [], text_of(data).split("\n"))


@target
def selector_that_is_typed(data: bytes) -> None:
    with refusing(BadSelector):
        found = selecting.selector([text_of(data)])
        assert found is None or found.match_labels or found.match_expressions


@target
def page_of_numbers(data: bytes) -> None:
    with refusing(NotNumbers):
        numbers(text_of(data), ("envoy_",))


@target
def page_of_a_controller(data: bytes) -> None:
    for shape in (Proxies, Probe):
        try:
            found = msgspec.json.decode(text_of(data), type=shape)
        except UNREADABLE:
            continue
        assert msgspec.json.decode(msgspec.json.encode(found), type=shape) == found
