"""The files of volumes, from what the cluster holds."""

import msgspec
import pytest

from isthmus.embedded.machine.contents import Known, NothingToMount, files, mounted_by, tokens_of
from isthmus.embedded.machine.objects import Pod, PodMetadata, PodSpec, Token, Volume
from isthmus.model.objects import ConfigMap, Key, Metadata, Secret
from isthmus.model.wire import JsonObject

TOKEN = {"serviceAccountToken": {"path": "token", "audience": "us", "expirationSeconds": 900}}
PROJECTED: JsonObject = {
    "sources": [
        TOKEN,
        {"configMap": {"name": "trust", "items": [{"key": "a.pem", "path": "in/a.pem"}]}},
        {"secret": {"name": "keys"}},
        {
            "downwardAPI": {
                "items": [{"path": "ns", "fieldRef": {"fieldPath": "metadata.namespace"}}]
            }
        },
    ]
}


def volume(**source: JsonObject) -> Volume:
    return msgspec.convert({"name": "v", **source}, Volume)


def pod(*volumes: Volume) -> Pod:
    metadata = PodMetadata(name="web", namespace="shop")
    return Pod(metadata=metadata, spec=PodSpec(volumes=volumes))


def known(of: Pod) -> Known:
    def metadata(name: str) -> Metadata:
        return Metadata(name=name, namespace="shop")

    trust = ConfigMap(metadata=metadata("trust"), data={"a.pem": "A"}, binary_data={"b": b"\0"})
    return Known(
        pod=of,
        address="127.1.2.3",
        configs={Key("shop", "trust"): trust, Key("other", "far"): trust},
        secrets={Key("shop", "keys"): Secret(metadata=metadata("keys"), data={"k": b"K"})},
        tokens=dict.fromkeys(tokens_of(of), "t0k3n"),
    )


@pytest.mark.parametrize(
    "made, expected",
    [
        pytest.param(volume(emptyDir={}), {}, id="empty"),
        pytest.param(volume(hostPath={"path": "/etc"}), {}, id="of a kind that is not here"),
        pytest.param(volume(configMap={"name": "trust"}), {"a.pem": b"A", "b": b"\0"}, id="map"),
        pytest.param(volume(secret={"secretName": "keys"}), {"k": b"K"}, id="secret"),
        pytest.param(
            volume(configMap={"name": "trust", "items": [{"key": "a.pem", "path": "x/y"}]}),
            {"x/y": b"A"},
            id="chosen",
        ),
        pytest.param(volume(configMap={"name": "no", "optional": True}), {}, id="optional"),
        pytest.param(
            volume(projected=PROJECTED),
            {"token": b"t0k3n", "in/a.pem": b"A", "k": b"K", "ns": b"shop"},
            id="projected",
        ),
    ],
)
def test_a_volume_holds_what_it_is_made_from(made: Volume, expected: dict[str, bytes]) -> None:
    assert files(made, known(pod(made))) == expected


@pytest.mark.parametrize(
    "source, why",
    [
        pytest.param({"name": "no"}, 'configmap "no" not found', id="missing"),
        pytest.param({"name": "far"}, 'configmap "far" not found', id="another namespace's"),
        pytest.param(
            {"name": "trust", "items": [{"key": "z", "path": "z"}]},
            'configmap "trust" has no key "z"',
            id="without the key",
        ),
        pytest.param(
            {"name": "trust", "items": [{"key": "a.pem", "path": "../../a.pem"}]},
            "not a path inside of it",
            id="a path that leads out",
        ),
        pytest.param(
            {"name": "trust", "items": [{"key": "a.pem", "path": "/etc/passwd"}]},
            "not a path inside of it",
            id="a path of the machine",
        ),
    ],
)
def test_what_cannot_be_mounted_is_named(source: JsonObject, why: str) -> None:
    made = volume(configMap=source)
    with pytest.raises(NothingToMount, match=why):
        files(made, known(pod(made)))


def test_a_pod_tells_what_it_mounts() -> None:
    of = pod(volume(projected=PROJECTED), volume(secret={"secretName": "more"}))
    assert set(mounted_by(of)) == {
        ("ConfigMap", Key("shop", "trust")),
        ("Secret", Key("shop", "keys")),
        ("Secret", Key("shop", "more")),
    }
    assert tokens_of(of) == {Token(path="token", audience="us", expiration_seconds=900)}
