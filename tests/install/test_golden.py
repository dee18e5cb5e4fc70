"""The manifests, as somebody has read them."""

from collections.abc import Callable

import pytest
import yaml

from tests.install.made import made

KINDS = "CustomResourceDefinition"  # they are files of their own


@pytest.mark.parametrize(
    "name, sets",
    [
        ("default", ()),
        ("ha", ("ha=true",)),
        (
            "everything",
            (
                "removeNamespaces=true",
                "allowLoopback=true",
                "localCidrs=10.0.0.0/8",
                "networkPolicy.metricsNamespaces=monitoring",
                "gateway.service.loadBalancerSourceRanges=192.0.2.0/24",
                "trust.anchors=ANCHORS",
                "trust.issuer.certificate=CERTIFICATE",
                "trust.issuer.key=KEY",
            ),
        ),
    ],
)
def test_manifests_are_those_that_were_read(
    name: str, sets: tuple[str, ...], golden: Callable[[str, str], None]
) -> None:
    found = [one for one in made(*sets) if one["kind"] != KINDS]
    golden(f"{name}.yaml", yaml.safe_dump_all(found, sort_keys=False, width=100))
