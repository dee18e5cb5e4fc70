"""Asks the lab's programs whether they are well."""

import ssl
import urllib.error
import urllib.request


def answers(url: str, *, ca: str | None = None, token: str | None = None) -> bool:
    """Whether a GET of ``url`` succeeds now; ``ca`` is the PEM that its certificate is held to."""
    request = urllib.request.Request(url)
    if token is not None:
        request.add_header("Authorization", f"Bearer {token}")
    trust = None if ca is None else ssl.create_default_context(cadata=ca)
    try:
        with urllib.request.urlopen(request, timeout=5, context=trust) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False
