"""Who gets a certificate, for which name, and how often."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from isthmus.apps.controller.certifying.metrics import certificates
from isthmus.apps.controller.certifying.refusal import Refused
from isthmus.apps.controller.certifying.signing import Signing
from isthmus.apps.controller.certifying.tokens import MEMORY, Tokens
from isthmus.kube.client import Client
from isthmus.pki import bundle
from isthmus.pki.keys import csr, key_pem, new_key, read_certificates
from isthmus.pki.verify import verify
from tests.apps.clusters import START, Place, VirtualClock, Wire, place
from tests.apps.signers import CSR, Bytes, Careless, Office, Slow, populate, token
from tests.apps.trusting import anchor, fresh, given, issuer

ABOVE = anchor()
EAST = issuer(ABOVE)
UNPROVEN = (
    "the token proves nobody here: it has expired, its pod is gone, or it is not one of this "
    "cluster for the audience isthmus.dev/east"
)


async def office(*accounts: str) -> Office:
    east = place("east")
    await populate(east, *accounts)
    return Office.of(east, given(ABOVE, EAST))


async def refusal(asking: object) -> tuple[int, str]:
    with pytest.raises(Refused) as refused:
        await asking  # type: ignore[misc]  # any coroutine
    return refused.value.reason.value, str(refused.value)


async def test_a_pod_gets_a_certificate_for_its_account_whatever_its_request_says() -> None:
    here = await office("curl")
    key = new_key()
    other = "spiffe://west.isthmus/ns/kube-system/sa/admin"
    names = x509.SubjectAlternativeName([x509.UniformResourceIdentifier(other)])
    request = (
        x509.CertificateSigningRequestBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "admin")]))
        .add_extension(names, critical=True)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    signed = await here.ask(token(here.place, "curl"), request.public_bytes(Encoding.PEM))
    chain = read_certificates(signed.chain, "the chain")
    found = verify(chain, bundle.parse(signed.anchors), START)
    assert str(found) == "spiffe://east.isthmus/ns/default/sa/curl"
    assert chain[0].public_key() == key.public_key()
    assert signed.not_after == "2026-01-03T03:04:05Z"


async def test_every_certificate_is_recorded_in_one_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    here = await office("curl")
    caplog.set_level(logging.INFO)
    signed = await here.ask(token(here.place, "curl"))
    [leaf, _] = read_certificates(signed.chain, "the chain")
    [line] = [one for one in caplog.records if one.message == "certificate issued"]
    ours = line.__dict__.keys() - logging.makeLogRecord({}).__dict__.keys()
    assert {name: line.__dict__[name] for name in ours - {"message", "asctime"}} == {
        "serial": f"{leaf.serial_number:x}",
        "identity": "spiffe://east.isthmus/ns/default/sa/curl",
        "not_after": "2026-01-03T03:04:05Z",
        "pod": "curl",
    }
    assert here.signing.issued == 1


@pytest.mark.parametrize(
    "make, expected",
    [
        pytest.param(
            lambda east, _: token(east, "curl", meant="https://kubernetes.default.svc"),
            (401, UNPROVEN),
            id="another audience",
        ),
        pytest.param(
            lambda east, _: token(east, "curl", meant="isthmus.dev/west"),
            (401, UNPROVEN),
            id="meant for another cluster",
        ),
        pytest.param(
            lambda _, west: token(west, "curl", meant="isthmus.dev/east"),
            (401, UNPROVEN),
            id="of another cluster",
        ),
        pytest.param(
            lambda east, _: token(east, "curl")[:-9] + "AAAAAAAAA", (401, UNPROVEN), id="forged"
        ),
        pytest.param(lambda *_: "canary-88", (401, UNPROVEN), id="garbage"),
        pytest.param(lambda *_: "a" * 9000, (401, UNPROVEN), id="long garbage"),
        pytest.param(lambda *_: "\x00\udcff", (401, UNPROVEN), id="not even text"),
        pytest.param(
            lambda east, _: token(east, "curl", bound=False),
            (403, "the token is not bound to a pod; use one that the pod mounts (projected)"),
            id="of no pod",
        ),
        pytest.param(
            lambda east, _: east.cluster.admin_token,
            (403, "certificates are for service accounts only"),
            id="of a person",
        ),
    ],
)
async def test_tokens_that_prove_nobody(
    make: Callable[[Place, Place], str], expected: tuple[int, str]
) -> None:
    here = await office("curl")
    west = place("west", 1)
    await populate(west, "curl")
    assert await refusal(here.ask(make(here.place, west))) == expected
    assert here.signing.issued == 0


@pytest.mark.parametrize(
    "username, audiences, expected",
    [
        pytest.param("system:serviceaccount:default:curl", [], 401, id="no audience"),
        pytest.param(
            "system:serviceaccount:default:curl", ["isthmus.dev/west"], 401, id="another audience"
        ),
        pytest.param("system:serviceaccount:default:a:b", None, 403, id="one part too many"),
        pytest.param("system:serviceaccount:default:", None, 403, id="no account"),
        pytest.param("system:serviceaccount:../x:a", None, 403, id="no namespace's name"),
        pytest.param("system:serviceaccount:default:A/../b", None, 403, id="no account's name"),
        pytest.param("system:node:one", None, 403, id="a node"),
        pytest.param("", None, 403, id="nobody"),
    ],
)
async def test_an_answer_that_proves_something_else_proves_nobody(
    username: str, audiences: Sequence[str] | None, expected: int
) -> None:
    meant = ["isthmus.dev/east"] if audiences is None else audiences
    client = Client(Careless(username, meant), clock=VirtualClock())
    here = Office.of(replace(place("east"), client=client), given(ABOVE, EAST))
    code, _ = await refusal(here.ask("any"))
    assert code == expected


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param([], id="none"),
        pytest.param(["Bearer "], id="empty"),
        pytest.param(["Basic YTpi"], id="another scheme"),
        pytest.param(["Bearer a", "Bearer b"], id="two"),
    ],
)
async def test_without_one_token_there_is_no_certificate(headers: Sequence[str]) -> None:
    here = await office()
    asking = here.signing.sign("10.1.0.1", headers, Bytes([CSR]))
    text = "send one service account's token: Authorization: Bearer …"
    assert await refusal(asking) == (401, text)


async def test_an_expired_token_proves_nobody() -> None:
    here = await office("curl")
    old = token(here.place, "curl")
    await here.ask(old)
    await asyncio.sleep(2 * 3600)
    assert await refusal(here.ask(old)) == (401, UNPROVEN)


async def test_the_token_of_a_deleted_pod_proves_nobody() -> None:
    here = await office("curl", "other")
    used, unused = token(here.place, "curl"), token(here.place, "other")
    await here.ask(used)
    await here.delete_pod("curl")
    await here.delete_pod("other")
    assert await refusal(here.ask(unused)) == (401, UNPROVEN)
    # What was proven a moment ago is proven still, and not longer than that.
    await asyncio.sleep(MEMORY)
    assert await refusal(here.ask(used)) == (401, UNPROVEN)


def _rsa() -> bytes:
    key = rsa.generate_private_key(65537, 1024)
    request = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([]))
    return request.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM)


def _koblitz() -> bytes:
    key = ec.generate_private_key(ec.SECP256K1())
    request = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([]))
    return request.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM)


def _forged() -> bytes:
    der = bytearray(x509.load_pem_x509_csr(csr(new_key())).public_bytes(Encoding.DER))
    der[-1] ^= 1
    return x509.load_der_x509_csr(bytes(der)).public_bytes(Encoding.PEM)


@pytest.mark.parametrize(
    "body, expected",
    [
        pytest.param(b"", (400, "the request is empty"), id="nothing"),
        pytest.param(b" \r\n", (400, "the request is empty"), id="white space"),
        pytest.param(
            b"canary-99", (400, "the request: line 1 is neither PEM nor a comment"), id="garbage"
        ),
        pytest.param(
            key_pem(new_key()),
            (
                400,
                "the request: line 1 begins a private key, which does not belong here; remove it, "
                "and replace the key if others could read it",
            ),
            id="a private key",
        ),
        pytest.param(
            CSR + CSR, (400, "the request has 2 PEM blocks, expected one"), id="two requests"
        ),
        pytest.param(
            CSR[:-40],
            (400, "the request: the block of line 1 is cut off, it has no END line"),
            id="cut off",
        ),
        pytest.param(
            _rsa(), (400, "the request's key is not ECDSA on P-256 or P-384"), id="RSA of 1024 bits"
        ),
        pytest.param(
            _koblitz(),
            (400, "the request's key is not ECDSA on P-256 or P-384"),
            id="another curve",
        ),
        pytest.param(
            _forged(), (400, "the request is not signed by the key that it names"), id="not proved"
        ),
        pytest.param(b"A" * 16385, (413, "the request is larger than 16 KiB"), id="too large"),
        pytest.param(b"A" * (1 << 20), (413, "the request is larger than 16 KiB"), id="huge"),
    ],
)
async def test_requests_that_prove_no_key(body: bytes, expected: tuple[int, str]) -> None:
    here = await office("curl")
    assert await refusal(here.ask(token(here.place, "curl"), body)) == expected


async def test_a_body_that_never_comes_is_not_waited_for() -> None:
    class Never:
        async def read(self, n: int = -1) -> bytes:
            await asyncio.sleep(1)
            return b"A"[:n]

    here = await office("curl")
    asking = here.signing.sign("10.1.0.1", [f"Bearer {token(here.place, 'curl')}"], Never())
    assert await refusal(asking) == (408, "the request's body did not come within 10 s")


async def test_without_an_issuer_nobody_gets_a_certificate_and_everybody_is_told_why() -> None:
    east = place("east")
    await populate(east, "curl")
    here = Office.of(east, fresh())
    code, text = await refusal(here.ask(token(east, "curl")))
    assert code == 503
    assert text.startswith("this cluster has no certificate authority: Secret isthmus/isthmus-iss")


async def test_while_the_api_server_is_away_nobody_new_is_believed() -> None:
    east = place("east")
    await populate(east, "curl")
    wire = Wire(east.cluster.transport())
    client = Client(wire, clock=VirtualClock())
    authority = given(ABOVE, EAST)
    tokens = Tokens(client, authority.identity, VirtualClock())
    signing = Signing(authority, tokens, VirtualClock())
    wire.cut()
    asking = signing.sign("10.1.0.1", [f"Bearer {token(east, 'curl')}"], Bytes([CSR]))
    text = "tokens cannot be reviewed now; the controller's log says why"
    assert await refusal(asking) == (503, text)


@dataclass(frozen=True)
class Crowd:
    """Ten thousand requests of one identity in a minute."""

    tokens: int
    addresses: int

    async def ask(self, here: Office) -> Counter[int]:
        """Ask without waiting for answers; return how often there was which."""
        some = [token(here.place, "crowd") for _ in range(self.tokens)]
        answers: Counter[int] = Counter()
        waits: list[float] = []

        async def ask(number: int) -> None:
            try:
                origin = f"10.1.66.{number % self.addresses}"
                await here.ask(some[number % self.tokens], origin=origin)
            except Refused as refused:
                answers[refused.reason.value] += 1
                waits.append(refused.retry_after)
            else:
                answers[200] += 1

        async with asyncio.TaskGroup() as group:
            for number in range(10_000):
                group.create_task(ask(number))
                await asyncio.sleep(60 / 10_000)
        assert min(waits) > 0
        return answers


@pytest.mark.parametrize(
    "crowd, reviews",
    [
        pytest.param(Crowd(tokens=1, addresses=1), 4 * 60 / MEMORY, id="with one token"),
        pytest.param(Crowd(tokens=500, addresses=1), 60 + 6 * 60, id="with many tokens"),
        pytest.param(Crowd(tokens=500, addresses=30), 60 * 4 / 0.2, id="from many addresses"),
    ],
)
async def test_ten_thousand_requests_of_one_identity_leave_the_others_served(
    crowd: Crowd, reviews: float
) -> None:
    east = place("east")
    await populate(east, "crowd", "curl")
    client = Client(Slow(east.cluster.transport(), 0.2), clock=VirtualClock())
    here = Office.of(replace(east, client=client), given(ABOVE, EAST))
    waited: list[float] = []
    async with asyncio.TaskGroup() as group:
        answers = group.create_task(crowd.ask(here))
        for _ in range(55):
            began = asyncio.get_running_loop().time()
            await here.ask(token(here.place, "curl"))
            waited.append(asyncio.get_running_loop().time() - began)
            await asyncio.sleep(1)
    count = answers.result()
    assert max(waited) < 2
    assert 60 <= count[200] <= 60 + 2 * 72  # the last ones waited for ten seconds
    assert count[200] + count[429] + count[503] == 10_000
    assert {reason.value: times for reason, times in here.signing.refused.items()} == {
        code: times for code, times in count.items() if code != 200
    }
    asked = client.exchange.answers["create", "tokenreviews", "201"]
    assert asked - len(waited) <= reviews + 4


async def test_after_the_pause_that_it_is_told_an_identity_is_served_again() -> None:
    here = await office("curl")
    mine = token(here.place, "curl")
    for _ in range(60):
        await here.ask(mine)
    with pytest.raises(Refused) as refused:
        await here.ask(mine)
    await asyncio.sleep(refused.value.retry_after)
    await here.ask(mine)


async def test_no_secret_is_in_anything_that_is_shown(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    here = await office("curl")
    good, bad = token(here.place, "curl"), token(here.place, "curl", meant="other")
    key = new_key()
    request = csr(key)
    shown: list[str] = []
    for bearer, body in (
        (good, request),
        (good, request[:-30]),
        (good, key_pem(key)),
        (good, b"canary-99" * 3000),
        (bad, request),
        ("canary-88", request),
    ):
        try:
            shown.append(repr(await here.ask(bearer, body)).partition("anchors")[2])
        except Refused as refused:
            shown += [repr(refused), str(refused), repr(refused.__cause__)]
    shown += [str(one.__dict__) for one in caplog.records]
    shown += [repr(here.signing), repr(here.signing.__dict__), repr(here.signing._tokens.__dict__)]
    everything = "\n".join(shown)
    secrets = [good, bad, good.rpartition(".")[2], "canary-88", "canary-99"]
    for pem in (key_pem(key), request, key_pem(EAST.key)):
        secrets += pem.decode().splitlines()[1:-1]
    for secret in secrets:
        assert secret not in everything


async def test_what_is_issued_and_refused_and_what_ends_when_is_measured() -> None:
    here = await office("curl")
    await here.ask(token(here.place, "curl"))
    await refusal(here.ask("canary-88"))
    authority = given(ABOVE, EAST)
    found = {
        (sample.name, *sample.labels.values()): sample.value
        for metric in certificates(authority, here.signing, VirtualClock())
        for sample in metric.samples
    }
    day = 24 * 3600
    expiry = "isthmus_certificate_expiry_seconds"
    assert found[expiry, "anchor"] == 3650 * day
    assert found[expiry, "issuer"] == 365 * day
    assert found[expiry, "own"] == day
    assert found["isthmus_certificates_issued_total",] == 1
    assert found["isthmus_certificates_refused_total", "unauthenticated"] == 1
    assert found["isthmus_certificates_refused_total", "too_many"] == 0
    assert found["isthmus_trust_problems",] == 0
    nothing = certificates(fresh(), here.signing, VirtualClock())
    assert not next(nothing).samples
    assert next(nothing).samples[0].value == 1
