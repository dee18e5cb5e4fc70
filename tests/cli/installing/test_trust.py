"""What an installation is to trust and to sign with: nobody is cut off, and no key made in vain."""

from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from isthmus.cli.installing.trust import Chosen, Given, Misfit, Present, choose, read
from isthmus.install.values import Issuer, Trust, Values
from isthmus.model.names import ANCHORS, ISSUER, TRUST
from isthmus.model.objects import ConfigMap, Metadata, Secret
from isthmus.pki import bundle
from isthmus.pki.keys import Pair, chain_pem, key_pem, read_certificates
from tests.apps import trusting
from tests.support.pki import NOW

WEST = Values(cluster_name="west")
OLD, NEW = trusting.anchor(NOW), trusting.anchor(NOW)
DAY = timedelta(days=1)


def anchors(*pairs: Pair) -> ConfigMap:
    metadata = Metadata(name=TRUST, namespace="isthmus")
    text = bundle.of(one.certificate for one in pairs).pem().decode()
    return ConfigMap(metadata=metadata, data={ANCHORS: text})


def secret(pair: Pair) -> Secret:
    data = {"tls.crt": chain_pem(pair.certificate), "tls.key": key_pem(pair.key)}
    return Secret(metadata=Metadata(name=ISSUER, namespace="isthmus"), data=data)


def issuer(above: Pair, cluster: str = "west", days: int = 365) -> Pair:
    return trusting.issuer(above, cluster, NOW, days * DAY)


def with_anchor(pair: Pair) -> Given:
    return Given(anchor=pair, anchors=bundle.of((pair.certificate,)))


def with_bundle(*pairs: Pair, signs: Pair | None = None) -> Given:
    return Given(anchors=bundle.of(one.certificate for one in pairs), issuer=signs)


def trusted(chosen: Chosen) -> tuple[str, ...]:
    return bundle.parse(chosen.trust.anchors).fingerprints if chosen.trust.anchors else ()


def of(*pairs: Pair) -> tuple[str, ...]:
    return bundle.of(one.certificate for one in pairs).fingerprints


def test_nothing_given_is_nothing_decided() -> None:
    values = replace(WEST, trust=Trust(anchors="as it is"))
    assert choose(Given(), Present(anchors(OLD)), values, NOW) == Chosen(values.trust)


def test_an_anchor_is_trusted_and_issues() -> None:
    chosen = choose(with_anchor(OLD), Present(), WEST, NOW)
    assert trusted(chosen) == of(OLD)
    (made,) = read_certificates(chosen.trust.issuer.certificate, "it")
    made.verify_directly_issued_by(OLD.certificate)
    assert chosen.trust.issuer.key
    assert chosen.note.startswith("a new issuer of west.isthmus, until ")


@pytest.mark.parametrize("bundled", [(OLD,), (OLD, NEW)], ids=["alone", "while anchors change"])
def test_an_issuer_that_can_be_used_stays(bundled: tuple[Pair, ...]) -> None:
    present = Present(anchors(*bundled), secret(issuer(OLD)))
    chosen = choose(with_anchor(OLD), present, WEST, NOW)
    assert trusted(chosen) == of(*bundled)
    assert chosen.trust.issuer == Issuer()
    assert chosen.note.startswith("the issuer of west.isthmus stays, until ")


@pytest.mark.parametrize("passed", [250, 364, 366], ids=["in good time", "at last", "too late"])
def test_an_issuer_that_ends_is_replaced(passed: int) -> None:
    present = Present(anchors(OLD), secret(issuer(OLD)))
    chosen = choose(with_anchor(OLD), present, WEST, NOW + passed * DAY)
    assert chosen.trust.issuer.key
    assert chosen.note.startswith("a new issuer")


@pytest.mark.parametrize(
    "given, present, wrong",
    [
        pytest.param(
            with_anchor(NEW),
            Present(anchors(OLD), secret(issuer(OLD))),
            r"whoever is below the other would be cut off. `isthmus trust rotate` replaces",
            id="another anchor",
        ),
        pytest.param(
            with_bundle(NEW),
            Present(anchors(OLD, NEW)),
            "would be cut off",
            id="a bundle that lacks one",
        ),
        pytest.param(
            with_anchor(OLD),
            Present(anchors(OLD), secret(issuer(OLD, "east"))),
            r"cannot sign for west.isthmus: .* delete Secret isthmus/isthmus-issuer",
            id="another cluster's issuer",
        ),
        pytest.param(
            with_anchor(OLD),
            Present(anchors(OLD), secret(issuer(NEW))),
            "cannot sign for west.isthmus",
            id="an issuer of another anchor",
        ),
        pytest.param(
            with_bundle(OLD, signs=issuer(NEW)),
            Present(),
            "cannot sign for west.isthmus",
            id="given, and not below",
        ),
        pytest.param(
            with_bundle(OLD, signs=issuer(OLD, "east")),
            Present(),
            "cannot sign for west.isthmus",
            id="given, of another cluster",
        ),
        pytest.param(
            with_anchor(OLD),
            Present(replace(anchors(OLD), data={ANCHORS: "nothing"})),
            r"ConfigMap isthmus/isthmus-trust: .* mend it, or delete it",
            id="anchors that nobody can read",
        ),
        pytest.param(
            with_anchor(OLD),
            Present(issuer=replace(secret(issuer(OLD)), data={})),
            r"Secret isthmus/isthmus-issuer: .* mend it, or delete it",
            id="an issuer that nobody can read",
        ),
    ],
)
def test_what_would_cut_somebody_off_is_refused(given: Given, present: Present, wrong: str) -> None:
    with pytest.raises(Misfit, match=wrong):
        choose(given, present, WEST, NOW)


def test_what_was_issued_before_is_taken_as_it_is() -> None:
    pair = issuer(OLD)
    chosen = choose(with_bundle(OLD, NEW, signs=pair), Present(anchors(OLD)), WEST, NOW)
    assert trusted(chosen) == of(OLD, NEW)
    assert chosen.trust.issuer.certificate == chain_pem(pair.certificate).decode()
    again = choose(
        with_bundle(OLD, NEW, signs=pair), Present(anchors(OLD, NEW), secret(pair)), WEST, NOW
    )
    assert again.trust.issuer == Issuer()


def test_anchors_alone_need_no_issuer() -> None:
    assert trusted(choose(with_bundle(OLD), Present(), WEST, NOW)) == of(OLD)


def test_what_is_given_is_read_from_files(tmp_path: Path) -> None:
    pair = issuer(OLD)
    for name, content in (
        ("anchor.crt", chain_pem(OLD.certificate)),
        ("anchor.key", key_pem(OLD.key)),
        ("west.crt", chain_pem(pair.certificate)),
        ("west.key", key_pem(pair.key)),
    ):
        (tmp_path / name).write_bytes(content)
    assert read(tmp_path, None, None, "west") == with_anchor(OLD)
    found = read(None, tmp_path / "anchor.crt", tmp_path, "west")
    assert found == with_bundle(OLD, signs=pair)
    assert read(None, None, None, "west") == Given()
    assert found.mesh_domain == "isthmus"
