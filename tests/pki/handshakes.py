"""Handshakes of OpenSSL, in memory: what Python's own servers and clients would do."""

import ssl
import tempfile

from isthmus.pki.bundle import Bundle
from tests.support.pki import Credentials


def handshake(client: Credentials, server: Credentials, anchors: Bundle) -> str:
    """Let a client and a server meet; return why one of them declined, or nothing."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    here = _context(ssl.PROTOCOL_TLS_CLIENT, client, anchors).wrap_bio(to_client, to_server)
    there = _context(ssl.PROTOCOL_TLS_SERVER, server, anchors).wrap_bio(
        to_server, to_client, server_side=True
    )
    for side in (here, there) * 3:
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            continue
        except ssl.SSLCertVerificationError as error:
            return error.verify_message
        except ssl.SSLError as error:
            return str(error.reason)
    return ""


def _context(protocol: "ssl._SSLMethod", own: Credentials, anchors: Bundle) -> ssl.SSLContext:
    context = ssl.SSLContext(protocol)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_verify_locations(cadata=anchors.pem().decode())
    with tempfile.NamedTemporaryFile() as file:
        file.write(own.key_pem + own.chain_pem)
        file.flush()
        context.load_cert_chain(file.name)
    return context
