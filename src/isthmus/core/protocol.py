"""What the traffic of a port is treated as; both ends of a link have to come to the same answer."""

from isthmus.model.exports import Port
from isthmus.model.objects import EndpointPort, ServicePort
from isthmus.model.routes import Protocol

# HTTP/2 without TLS is what gRPC is spoken over inside a cluster; WebSocket starts as HTTP/1.1.
# Anything else is bytes, TLS too: what is inside is between the two applications.
KNOWN: dict[str, Protocol] = {
    "http": "http",
    "ws": "http",
    "kubernetes.io/ws": "http",
    "http2": "http2",
    "h2c": "http2",
    "kubernetes.io/h2c": "http2",
    "grpc": "http2",
}


def protocol(port: Port | ServicePort | EndpointPort) -> Protocol:
    """Return the protocol of ``port``: what appProtocol says, else what its name starts with."""
    if port.app_protocol:
        return KNOWN.get(port.app_protocol.lower(), "tcp")
    return KNOWN.get(port.name.partition("-")[0], "tcp")
