"""What an API server, a kubeconfig or a credential plugin says."""

from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

from isthmus.kube import kubeconfig, restricted
from isthmus.kube.codec import Page, decoded, decoded_json, decoded_page, encoded
from isthmus.kube.credentials import Anonymous, StaticToken, bearer
from isthmus.kube.document import Place
from isthmus.kube.errors import BadConfig, Garbled, Unavailable, Unreachable
from isthmus.kube.exchange import Exchange, Limits
from isthmus.kube.exec import understood
from isthmus.kube.failures import LONGEST_PAUSE, failure
from isthmus.kube.pem import check_certificates, check_pair
from isthmus.kube.plugin import Plugin
from isthmus.kube.resources import (
    CONFIG_MAPS,
    ENDPOINT_SLICES,
    GRANTS,
    LEASES,
    LINKS,
    PODS,
    SECRETS,
    SERVICES,
    TOKEN_REVIEWS,
    Resource,
    untyped,
)
from isthmus.kube.tls import described
from isthmus.kube.watch import Failed, WatchDecoder
from isthmus.model.addresses import refusal
from isthmus.model.wire import Json
from isthmus.runtime.clock import SystemClock
from tests.fuzz.target import check_readable, chunks_of, parts_of, refusing, target, text_of
from tests.support.transports import Nowhere

READ: tuple[Resource[Json], ...] = (
    SERVICES,
    ENDPOINT_SLICES,
    SECRETS,
    CONFIG_MAPS,
    LINKS,
    GRANTS,
    TOKEN_REVIEWS,
    LEASES,
    PODS,
    untyped("v1", "Service", "services", namespaced=True),
)
LISTED = tuple(one for one in READ if one is not TOKEN_REVIEWS)
NOW = datetime(2030, 1, 1, tzinfo=UTC)
CAP = 4096  # bytes of a line


@target
def kubeconfig_of_ones_own(data: bytes) -> None:
    with TemporaryDirectory() as folder, refusing(BadConfig):
        path = Path(folder) / "config"
        path.write_bytes(data)
        kubeconfig.contexts([path])
        found = kubeconfig.load([path], SystemClock())
        assert urlsplit(found.server.url).scheme in ("http", "https")


@target
def kubeconfig_of_a_secret(data: bytes) -> None:
    with refusing(BadConfig):
        found = restricted.load(data, "the Secret")
        parts = urlsplit(found.server.url)
        assert parts.scheme == "https"
        assert refusal(parts.hostname or "") is None
        assert found.server.verify
        assert found.server.proxy is None
        assert isinstance(found.credentials, StaticToken | Anonymous)


@target
def object_of_the_api(data: bytes) -> None:
    for resource in READ:
        with refusing(Garbled):
            found = decoded(resource, data, "get something")
            assert decoded(resource, encoded(resource, found), "again") == found


@target
def json_of_the_api(data: bytes) -> None:
    with refusing(Garbled):
        decoded_json(data, "get something")


@target
def list_of_the_api(data: bytes) -> None:
    for resource in LISTED:
        with refusing(Garbled):
            _check_page(decoded_page(resource, data, "list something"))


def _check_page(page: Page[Json]) -> None:
    assert page.resource_version
    for one in page.bad:
        assert len(one.reason) <= 2000
        assert one.reason.isprintable()


@target
def watch_of_the_api(data: bytes) -> None:
    for resource in LISTED:
        whole = _watched(resource, [data[1:]])
        assert _watched(resource, chunks_of(data)) == whole


def _watched(resource: Resource[Json], chunks: Iterable[bytes]) -> list[str]:
    """Return the events of a stream, and how it ended."""
    decoder = WatchDecoder(resource, "watch something", CAP)
    heard: list[str] = []
    try:
        for chunk in chunks:
            for event in decoder.receive(chunk):
                if isinstance(event, Failed):
                    check_readable(event.error)
                heard.append(repr(event))
        decoder.finish()
    except (Garbled, Unreachable) as error:
        check_readable(error)
        # Where a line is too long, how much of it had come depends on the chunks.
        heard.append(type(error).__name__ if "longer" not in str(error) else "Garbled")
    return heard


@target
def answer_that_is_no_good(data: bytes) -> None:
    status, pause, date, kind, body = parts_of(data, 5)
    headers = {
        "retry-after": pause.decode("latin-1"),
        "date": date.decode("latin-1"),
        "content-type": kind.decode("latin-1"),
        "location": body.decode("latin-1"),
    }
    code = int(status) if status.isdigit() and len(status) == 3 else 503
    for secret in (False, True):
        found = failure(code, headers, body, "get something", secret=secret)
        check_readable(found)
        wish = found.retry_after if isinstance(found, Unavailable) else None
        assert wish is None or 0 <= wish <= LONGEST_PAUSE


@target
def date_of_an_answer(data: bytes) -> None:
    exchange = Exchange(Nowhere(), Anonymous(), Limits(), SystemClock(), Random(1))
    exchange._note_time({"date": data.decode("latin-1")})
    assert exchange.clock_skew is None or isinstance(exchange.clock_skew, float)


PLUGIN = Plugin(
    place=Place("config", "users[me].user.exec"),
    api_version="client.authentication.k8s.io/v1",
    command="plugin",
)


@target
def answer_of_a_plugin(data: bytes) -> None:
    with refusing(BadConfig):
        found = understood(PLUGIN, data, NOW)
        found.is_fresh(NOW)
        for value in found.headers.values():
            assert value.isprintable()


@target
def certificate_and_key_of_a_kubeconfig(data: bytes) -> None:
    certificate, key = parts_of(data, 2)
    with refusing(BadConfig):
        check_certificates(certificate, Place("config", "authority"))
    with refusing(BadConfig):
        check_pair(certificate, Place("config", "cert"), key, Place("config", "key"))


@target
def certificate_of_a_server(data: bytes) -> None:
    """One that is not trusted, in DER: it is only shown."""
    found = described(data)
    if found is not None:
        assert str(found).isprintable()
        assert len(str(found)) < 2000


@target
def token(data: bytes) -> None:
    with suppress(ValueError):
        ((name, value),) = bearer(text_of(data)).items()
        assert name == "Authorization"
        assert value.isascii()
        assert value.isprintable()
