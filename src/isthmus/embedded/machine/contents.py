"""Which files a pod's volumes hold, read from ConfigMaps, Secrets, tokens and the pod: pure."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from isthmus.embedded.machine.expansion import field
from isthmus.embedded.machine.objects import Item, Keys, Pod, Projection, Token, Volume
from isthmus.model.errors import Transient
from isthmus.model.objects import ConfigMap, Key, Secret


class NothingToMount(Transient):
    """What a volume is made from does not exist, or not yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """All that volumes can be made from, for one pod at its address."""

    pod: Pod
    address: str
    configs: Mapping[Key, ConfigMap]
    secrets: Mapping[Key, Secret]
    tokens: Mapping[Token, str]


def mounted_by(pod: Pod) -> Iterator[tuple[str, Key]]:
    """The ConfigMaps and Secrets that a pod's volumes are made from."""
    for volume in pod.spec.volumes:
        for source in volume.sources:
            for kind, keys in (("ConfigMap", source.config_map), ("Secret", source.secret)):
                if keys is not None:
                    yield kind, Key(pod.metadata.namespace, keys.name)


def tokens_of(pod: Pod) -> set[Token]:
    found = (one.service_account_token for volume in pod.spec.volumes for one in volume.sources)
    return {one for one in found if one is not None}


def files(volume: Volume, known: Known) -> dict[str, bytes]:
    """What the volume holds, by paths inside of it; raises ``NothingToMount``."""
    found: dict[str, bytes] = {}
    for source in volume.sources:
        found |= {_inside(volume, path): data for path, data in _projected(source, known)}
    return found


def _projected(source: Projection, known: Known) -> Iterator[tuple[str, bytes]]:
    namespace = known.pod.metadata.namespace
    if source.config_map is not None:
        config = known.configs.get(Key(namespace, source.config_map.name))
        texts = {key: text.encode() for key, text in config.data.items()} if config else {}
        data = {**texts, **(config.binary_data if config else {})}
        yield from _chosen("configmap", source.config_map, data if config else None)
    if source.secret is not None:
        secret = known.secrets.get(Key(namespace, source.secret.name))
        yield from _chosen("secret", source.secret, secret.data if secret else None)
    for item in source.downward_api.items if source.downward_api else ():
        reference = item.field_ref
        if reference is not None:
            yield item.path, field(known.pod, known.address, reference.field_path).encode()
    if source.service_account_token is not None:
        token = source.service_account_token
        yield token.path, known.tokens[token].encode()


def _chosen(kind: str, keys: Keys, data: Mapping[str, bytes] | None) -> Iterator[tuple[str, bytes]]:
    if data is None:
        if not keys.optional:
            raise NothingToMount(f'{kind} "{keys.name}" not found')
        return
    items: Iterable[Item] = keys.items or [Item(path=key, key=key) for key in data]
    for item in items:
        if item.key in data:
            yield item.path, data[item.key]
        elif not keys.optional:
            raise NothingToMount(f'{kind} "{keys.name}" has no key "{item.key}"')


def _inside(volume: Volume, path: str) -> str:
    """A path that cannot lead out of its volume, whatever somebody has written."""
    steps = PurePosixPath(path).parts
    if not steps or steps[0] == "/" or ".." in steps:
        raise NothingToMount(f"volume {volume.name}: {path[:80]!r} is not a path inside of it")
    return path
