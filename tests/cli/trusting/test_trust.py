"""``isthmus trust``: files that only their owner can read, and keys that nobody is shown."""

import os
import sys
from base64 import b64decode
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest
import yaml

from isthmus.cli import main
from isthmus.pki import bundle
from isthmus.pki.anchor import create_anchor
from isthmus.pki.facts import facts
from isthmus.pki.issuer import create_issuer
from isthmus.pki.keys import chain_pem, key_pem, read_certificates, read_pair
from tests.support.pki import HOSTILE, NOW, anchor, authority, credentials, hostile, identity

Printed = pytest.CaptureFixture[str]


def created(folder: Path, *options: str) -> Path:
    assert main.run(["trust", "create", "--out", str(folder), *options]) == 0
    return folder


def secrets(*files: Path) -> list[str]:
    """The lines of the keys in these files: none of them may be seen anywhere."""
    return [line for file in files for line in file.read_text().splitlines() if "-----" not in line]


def test_an_anchor_is_made_once_and_its_key_is_not_shown(tmp_path: Path, capsys: Printed) -> None:
    folder = created(tmp_path / "anchor")
    certificate, key = folder / "anchor.crt", folder / "anchor.key"
    assert key.stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700
    pair = read_pair(certificate.read_bytes(), key.read_bytes(), "it")
    assert bundle.parse(certificate.read_bytes()).anchors == (pair.certificate,)
    before = key.read_bytes()
    assert main.run(["trust", "create", "--out", str(folder)]) == 1
    assert key.read_bytes() == before
    printed = capsys.readouterr()
    assert printed.err == f"isthmus: {key} exists already; nothing was written\n"
    assert str(certificate) in printed.out
    assert not [line for line in secrets(key) if line in printed.out + printed.err]


def test_an_anchor_is_written_whole_or_not_at_all(tmp_path: Path, capsys: Printed) -> None:
    mine = tmp_path / "anchor.crt"
    mine.write_text("mine")
    assert main.run(["trust", "create", "--out", str(tmp_path)]) == 1
    assert list(tmp_path.iterdir()) == [mine]
    assert mine.read_text() == "mine"
    assert capsys.readouterr().err == f"isthmus: {mine} exists already; nothing was written\n"


def test_a_folder_that_cannot_be_written(tmp_path: Path, capsys: Printed) -> None:
    (tmp_path / "file").touch()
    assert main.run(["trust", "create", "--out", str(tmp_path / "file" / "below")]) == 1
    assert capsys.readouterr().err.startswith("isthmus: ")


@pytest.mark.parametrize("text", ["", "ten", "0d", "-1d", "1y", "999999d", "1s", "9" * 400 + "h"])
def test_lifetimes_that_are_none(text: str, tmp_path: Path, capsys: Printed) -> None:
    out = str(tmp_path / "anchor")
    assert main.run(["trust", "create", "--out", out, "--lifetime", text]) == 2
    assert "--lifetime" in capsys.readouterr().err
    assert not Path(out).exists()


@pytest.mark.parametrize(
    "text, lifetime", [("1d", timedelta(days=1)), ("1h30m", timedelta(minutes=90))]
)
def test_lifetimes(text: str, lifetime: timedelta, tmp_path: Path) -> None:
    folder = created(tmp_path, "--lifetime", text)
    (certificate,) = read_certificates((folder / "anchor.crt").read_bytes(), "it")
    held = certificate.not_valid_after_utc - certificate.not_valid_before_utc
    assert held == lifetime + timedelta(minutes=5)


def test_a_mesh_domain_that_is_none(tmp_path: Path, capsys: Printed) -> None:
    assert main.run(["trust", "create", "--out", str(tmp_path), "--mesh-domain", "A_B"]) == 1
    assert "is not a mesh domain" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_an_issuer_is_of_its_anchors_mesh(tmp_path: Path, capsys: Printed) -> None:
    folder = created(tmp_path / "anchor", "--mesh-domain", "mesh.example")
    command = ["trust", "issue", "--cluster", "west", "--anchor", str(folder)]
    assert main.run([*command, "--out", str(tmp_path / "west")]) == 0
    key = tmp_path / "west" / "west.key"
    assert key.stat().st_mode & 0o777 == 0o600
    issuer = read_pair((tmp_path / "west" / "west.crt").read_bytes(), key.read_bytes(), "it")
    assert facts(issuer.certificate).permitted == ("west.mesh.example",)
    printed = capsys.readouterr()
    assert not [line for line in secrets(key) if line in printed.out + printed.err]
    assert main.run([*command, "--out", str(tmp_path / "x"), "--mesh-domain", "other"]) == 1
    assert "vouches for .mesh.example only" in capsys.readouterr().err


def test_an_anchor_from_elsewhere_needs_to_be_told_the_mesh(tmp_path: Path) -> None:
    root = authority(None, None, path_length=1)
    (tmp_path / "anchor.crt").write_bytes(chain_pem(root.certificate))
    (tmp_path / "anchor.key").write_bytes(key_pem(root.key))
    command = ["trust", "issue", "--cluster", "west", "--anchor", str(tmp_path)]
    assert main.run([*command, "--out", str(tmp_path), "--mesh-domain", "other"]) == 0
    (certificate,) = read_certificates((tmp_path / "west.crt").read_bytes(), "it")
    assert facts(certificate).permitted == ("west.other",)


def is_secret(text: str) -> bool:
    manifest = yaml.safe_load(text)
    data = {name: b64decode(value) for name, value in manifest["data"].items()}
    read_pair(data["tls.crt"], data["tls.key"], "it")
    return (manifest["kind"], manifest["type"], manifest["metadata"]) == (
        "Secret",
        "kubernetes.io/tls",
        {"name": "isthmus-issuer", "namespace": "isthmus"},
    )


def test_a_secret_goes_to_a_file_or_into_a_pipe(tmp_path: Path, capsys: Printed) -> None:
    folder = created(tmp_path / "anchor")
    command = ["trust", "issue", "--cluster", "west", "--anchor", str(folder), "--secret"]
    file = tmp_path / "west.yaml"
    assert main.run([*command, str(file)]) == 0
    assert file.stat().st_mode & 0o777 == 0o600
    assert is_secret(file.read_text())
    capsys.readouterr()
    assert main.run([*command, "-"]) == 0
    assert is_secret(capsys.readouterr().out)


def test_a_key_is_not_shown_on_a_terminal(
    tmp_path: Path, capsys: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = created(tmp_path / "anchor")
    capsys.readouterr()
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    command = ["trust", "issue", "--cluster", "west", "--anchor", str(folder)]
    assert main.run([*command, "--secret", "-", "--out", str(tmp_path / "west")]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "a private key is not shown on a terminal" in printed.err
    assert not (tmp_path / "west").exists()


@pytest.mark.parametrize(
    "break_it, sentence",
    [
        pytest.param(Path.exists, "say where the issuer goes", id="nowhere to go"),
        pytest.param(
            lambda folder: (folder / "anchor.key").unlink(),
            "anchor.key cannot be read: No such file",
            id="no key",
        ),
        pytest.param(
            lambda folder: (folder / "anchor.key").write_text(""),
            "is empty",
            id="an empty key",
        ),
        pytest.param(
            lambda folder: os.replace(folder / "anchor.key", folder / "anchor.crt"),
            "anchor.key cannot be read",
            id="a key for a certificate",
        ),
        pytest.param(
            lambda folder: (folder / "anchor.key").write_bytes(key_pem(anchor().key)),
            "does not belong to its certificate",
            id="another key",
        ),
    ],
)
def test_an_issuer_that_cannot_be_made(
    break_it: Callable[[Path], object], sentence: str, tmp_path: Path, capsys: Printed
) -> None:
    folder = created(tmp_path / "anchor")
    break_it(folder)
    out = [] if sentence.startswith("say") else ["--out", str(tmp_path / "west")]
    command = ["trust", "issue", "--cluster", "west", "--anchor", str(folder), *out]
    assert main.run(command) in (1, 2)
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / "west").exists()


def put(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    return str(path)


def test_inspecting_a_chain_and_its_anchor(tmp_path: Path, capsys: Printed) -> None:
    chain = put(tmp_path / "chain.pem", credentials(identity()).chain_pem)
    root = put(tmp_path / "anchor.crt", chain_pem(anchor().certificate))
    assert main.run(["trust", "inspect", chain, root, "--anchors", root]) == 0
    head, leaf, issuer, top = capsys.readouterr().out.splitlines()
    assert head.split() == ["FILE", "ROLE", "NAME", "SPEAKS", "FOR", "FROM", "UNTIL", "LEFT"]
    assert leaf.split()[1:4] == ["leaf", "spiffe://east.isthmus/ns/default/sa/curl", "-"]
    assert leaf.split()[-1] in ("24h", "23h")
    assert issuer.split()[1] == "issuer"
    assert "CN=issuer of east.isthmus" in issuer
    assert " east.isthmus " in issuer
    assert top.split()[1] == "anchor"
    assert " .isthmus " in top


@pytest.mark.parametrize("output", ["json", "yaml"])
def test_inspecting_for_scripts(output: str, tmp_path: Path, capsys: Printed) -> None:
    chain = put(tmp_path / "chain.pem", credentials(identity()).chain_pem)
    assert main.run(["trust", "inspect", chain, "-o", output]) == 0
    text = capsys.readouterr().out
    read = msgspec.json.decode(text) if output == "json" else yaml.safe_load(text)
    leaf, issuer = read["certificates"]
    assert (leaf["file"], leaf["role"], leaf["problems"]) == (chain, "leaf", [])
    assert leaf["names"] == ["spiffe://east.isthmus/ns/default/sa/curl"]
    assert issuer["constraint"] == ["east.isthmus"]
    assert len(issuer["fingerprint"]) == 64


@pytest.mark.parametrize("name", HOSTILE)
def test_inspecting_what_is_not_trusted(name: str, tmp_path: Path, capsys: Printed) -> None:
    chain = put(tmp_path / "chain.pem", hostile(name).chain_pem)
    root = put(tmp_path / "anchor.crt", chain_pem(anchor().certificate))
    assert main.run(["trust", "inspect", chain, "--anchors", root]) == 1
    printed = capsys.readouterr().out
    if not HOSTILE[name].reason.startswith("the leaf is an authority"):
        assert HOSTILE[name].reason in printed


_OLD = create_anchor("isthmus", NOW - timedelta(days=10), timedelta(days=1))


@pytest.mark.parametrize(
    "content, problem",
    [
        pytest.param(chain_pem(_OLD.certificate), "anchor: expired at ", id="an expired anchor"),
        pytest.param(
            chain_pem(
                create_issuer(
                    _OLD, "west", "isthmus", NOW - timedelta(days=9, hours=12)
                ).certificate
            ),
            "issuer: expired at ",
            id="an expired issuer",
        ),
        pytest.param(
            chain_pem(authority(anchor(), None, path_length=None).certificate),
            "issuer: not constrained to one cluster",
            id="an issuer of everybody",
        ),
        pytest.param(b"", "the file is empty", id="nothing"),
        pytest.param(b"\xff\x00", "line 1 is neither PEM nor a comment", id="noise"),
        pytest.param(
            key_pem(anchor().key), "there is no certificate in it, only a private key", id="a key"
        ),
    ],
)
def test_inspecting_what_is_wrong(
    content: bytes, problem: str, tmp_path: Path, capsys: Printed
) -> None:
    bad = put(tmp_path / "bad.pem", content)
    good = put(tmp_path / "good.pem", chain_pem(anchor().certificate))
    assert main.run(["trust", "inspect", bad, good]) == 1
    printed = capsys.readouterr().out
    assert f"problem: {bad}: " in printed
    assert problem in printed
    assert good in printed


def test_inspecting_a_file_with_a_key_shows_no_key(tmp_path: Path, capsys: Printed) -> None:
    shown = credentials(identity())
    file = put(tmp_path / "both.pem", shown.key_pem + shown.chain_pem)
    for output in ("table", "json", "yaml"):
        assert main.run(["trust", "inspect", file, "-o", output]) == 0
    printed = capsys.readouterr()
    lines = [line for line in shown.key_pem.decode().splitlines() if "-----" not in line]
    assert not [line for line in lines if line in printed.out + printed.err]


def test_a_file_that_is_not_there_does_not_hide_the_others(tmp_path: Path, capsys: Printed) -> None:
    good = put(tmp_path / "good.pem", chain_pem(anchor().certificate))
    assert main.run(["trust", "inspect", str(tmp_path / "none"), good]) == 1
    printed = capsys.readouterr().out
    assert f"{tmp_path / 'none'} cannot be read: No such file or directory" in printed
    assert "anchor" in printed


def test_a_certificate_cannot_write_to_the_terminal(tmp_path: Path, capsys: Printed) -> None:
    loud = hostile("two URIs")
    file = put(tmp_path / "chain\x1b[31m.pem", loud.chain_pem)
    assert main.run(["trust", "inspect", file]) == 1
    assert "\x1b" not in capsys.readouterr().out
