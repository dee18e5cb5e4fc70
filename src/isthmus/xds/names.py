"""What both proxies, and those who talk to them, call things; no more than words, so that whoever
needs only these need not load Envoy's messages."""

from isthmus.model.objects import Value

PORT = 4143
DESTINATION = "isthmus-destination"  # the authority of the exported port that a request is for
CATALOGUE, CATALOGUE_HOST, CATALOGUE_PATH = "catalogue", "catalogue.isthmus", "/v1/catalogue"
PROBE, PROBE_HOST, PROBE_PATH = "probe", "probe.isthmus", "/isthmus/probe"
LINK = "isthmus.link"  # the state of a connection that says which link it is for
NOWHERE = "nowhere"  # what a relay is told whose connections say for themselves where they go
ANCHORS = "anchors"  # the secret with the trust anchors
OWN_FILE, ANCHORS_FILE = "./own.pb", "./anchors.pb"  # beside a proxy


class Site(Value, frozen=True, kw_only=True):
    """Where a gateway stands; the one thing that two replicas may be told differently."""

    address: str
    own: str  # the file with its own certificate, see isthmus.xds.tls.own_secret
    port: int = PORT


def room(link: str, number: int) -> str:
    """Name one of the rooms in which a link's unknown callers wait."""
    return f"{link}:late-{number}"


def is_room(name: str) -> bool:
    return ":late-" in name


def account_secret(account: str) -> str:
    """Name the secret of a service account, given as "namespace/account"."""
    return f"account/{account}"
