"""Names and labels: what the API accepts, and what it does not."""

import pytest

from isthmus.model import syntax


@pytest.mark.parametrize(
    "text, is_label, is_service",
    [
        pytest.param("web", True, True, id="letters"),
        pytest.param("w", True, True, id="one letter"),
        pytest.param("web-2", True, True, id="a dash inside"),
        pytest.param("2web", True, False, id="a leading digit: no Service before Kubernetes 1.36"),
        pytest.param("w" * 63, True, True, id="63 characters"),
        pytest.param("w" * 64, False, False, id="64 characters"),
        pytest.param("", False, False, id="nothing"),
        pytest.param("-web", False, False, id="a leading dash"),
        pytest.param("web-", False, False, id="a trailing dash"),
        pytest.param("---", False, False, id="only dashes"),
        pytest.param("Web", False, False, id="upper case"),
        pytest.param("a.b", False, False, id="a dot"),
        pytest.param("web.", False, False, id="a trailing dot"),
        pytest.param("../x", False, False, id="a path"),
        pytest.param("web\n", False, False, id="a line break at the end"),
        pytest.param("b\u00fccher", False, False, id="a letter beyond ASCII"),
        pytest.param("\u0661", False, False, id="a digit beyond ASCII"),
    ],
)
def test_names_of_services_and_hosts(text: str, is_label: bool, is_service: bool) -> None:
    assert syntax.is_dns_label(text) is is_label
    assert syntax.is_service_name(text) is is_service


@pytest.mark.parametrize(
    "text, expected",
    [
        pytest.param("", True, id="nothing: a label may be a mere mark"),
        pytest.param("v1.2_3-x", True, id="dots, dashes, underscores inside"),
        pytest.param("v" * 63, True, id="63 characters"),
        pytest.param("v" * 64, False, id="64 characters"),
        pytest.param("a b", False, id="a space"),
        pytest.param("-a", False, id="a leading dash"),
        pytest.param("a/b", False, id="a slash"),
    ],
)
def test_values_of_labels(text: str, expected: bool) -> None:
    assert syntax.is_label_value(text) is expected


@pytest.mark.parametrize(
    "text, expected",
    [
        pytest.param("team", True, id="no prefix"),
        pytest.param("example.org/Team_1", True, id="a prefix"),
        pytest.param("kubernetes.io/h2c", True, id="an appProtocol of Kubernetes"),
        pytest.param("", False, id="nothing"),
        pytest.param("/team", False, id="an empty prefix"),
        pytest.param("example.org/", False, id="an empty name"),
        pytest.param("a/b/c", False, id="two slashes"),
        pytest.param("Example.org/team", False, id="a prefix in upper case"),
        pytest.param(f"example.org/{'n' * 64}", False, id="a name of 64 characters"),
        pytest.param(f"{'p.' * 126}pp/team", False, id="a prefix of 254 characters"),
    ],
)
def test_keys_of_labels(text: str, expected: bool) -> None:
    assert syntax.is_qualified_name(text) is expected


@pytest.mark.parametrize(
    "target, expected",
    [
        pytest.param(8080, True, id="a number"),
        pytest.param(0, False, id="zero"),
        pytest.param(65536, False, id="65536"),
        pytest.param("http", True, id="a name"),
        pytest.param("80", False, id="a number as text"),
        pytest.param("a--b", False, id="two dashes in a row"),
        pytest.param("p" * 15, True, id="15 characters"),
        pytest.param("p" * 16, False, id="16 characters"),
        pytest.param("HTTP", False, id="upper case"),
    ],
)
def test_target_ports(target: int | str, expected: bool) -> None:
    assert syntax.is_target_port(target) is expected
