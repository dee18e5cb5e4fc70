"""TLS as both proxies speak it: 1.3, both sides proven, every connection verified anew.

Nothing is resumed, because a resumed session would be taken on what was true when it began, not
on today's anchors. The chain is leaf, issuer, anchor: a longer one was made by somebody who had
no business to sign.
"""

from collections.abc import Sequence

from envoy.extensions.transport_sockets.tls.v3 import tls_pb2

from isthmus.xds.names import ANCHORS
from isthmus.xds.resources import extension

OWN = "own"
ADS: dict[str, object] = {"ads": {}, "resource_api_version": "V3"}


def own_secret(path: str) -> dict[str, object]:
    """Point at the file in which a proxy's launcher keeps its certificate, as one SDS answer.

    A key that was made on the proxy's machine does not travel.
    """
    return _kept_secret(OWN, path)


def anchors_in(path: str) -> dict[str, object]:
    """Point at the file with the anchors, for the one connection over which they cannot come."""
    return _kept_secret(ANCHORS, path)


def _kept_secret(name: str, path: str) -> dict[str, object]:
    source = {"path_config_source": {"path": path}, "resource_api_version": "V3"}
    return {"name": name, "sds_config": source}


def sent_secret(name: str) -> dict[str, object]:
    return {"name": name, "sds_config": ADS}


def served(secret: dict[str, object], protocols: Sequence[str]) -> dict[str, object]:
    """Demand a certificate with a SPIFFE ID from whoever connects."""
    return extension(
        "envoy.transport_sockets.tls",
        tls_pb2.DownstreamTlsContext(
            common_tls_context=_common(secret, {"prefix": "spiffe://"}, protocols),
            require_client_certificate={"value": True},
            disable_stateless_session_resumption=True,
            disable_stateful_session_resumption=True,
        ),
    )


def called(
    secret: dict[str, object],
    identity: str,
    protocols: Sequence[str],
    anchors: dict[str, object] | None = None,
) -> dict[str, object]:
    """Connect only to whoever proves to be ``identity``."""
    return extension(
        "envoy.transport_sockets.tls",
        tls_pb2.UpstreamTlsContext(
            common_tls_context=_common(secret, {"exact": identity}, protocols, anchors),
            max_session_keys={"value": 0},
        ),
    )


def _common(
    secret: dict[str, object],
    name: dict[str, str],
    protocols: Sequence[str],
    anchors: dict[str, object] | None = None,
) -> dict[str, object]:
    return {
        "tls_params": {
            "tls_minimum_protocol_version": "TLSv1_3",
            "tls_maximum_protocol_version": "TLSv1_3",
        },
        "alpn_protocols": protocols,
        "tls_certificate_sds_secret_configs": [secret],
        "combined_validation_context": {
            "default_validation_context": {
                "match_typed_subject_alt_names": [{"san_type": "URI", "matcher": name}],
                "max_verify_depth": {"value": 2},
            },
            "validation_context_sds_secret_config": anchors or sent_secret(ANCHORS),
        },
    }
