"""The conditions under which `domogate serve` listens on addresses other than loopback (Decision 0063)."""

import socket
from collections.abc import Iterator
from ipaddress import ip_address

from domogate.settings.loading import BadSettings, Mistake
from domogate.settings.values import Settings


def check_exposure(settings: Settings) -> None:
    """Raises BadSettings if tokens and passwords would be sent unencrypted over a network, and `insecure_http` is not set.

    Also raises BadSettings if the gateway listens on every address of the machine, and `public_url` is not set.
    """
    if mistakes := list(_find_mistakes(settings)):
        raise BadSettings(mistakes)


def describe_unknown_proxy(settings: Settings) -> tuple[str, str] | None:
    """If only an unknown proxy has TLS, return the disadvantages and the settings to change. Otherwise return None.

    There is such a proxy if clients use HTTPS, but the gateway has no TLS and the settings name no proxy.
    """
    if settings.tls_certificate is not None or settings.trusted_proxies or not settings.base_url.startswith("https://"):
        return None
    return (
        "public_url begins with https, but tls_certificate and trusted_proxies are not set. All clients behind the proxy count "
        "as one address, and answers have no header Strict-Transport-Security.",
        "Set trusted_proxies to the address of the proxy, such as 127.0.0.1; or set tls_certificate and tls_key.",
    )


def _find_mistakes(settings: Settings) -> Iterator[Mistake]:
    addresses = _resolve(settings.host)
    source = f"the gateway would listen on {settings.host}"
    encrypted = settings.tls_certificate is not None or bool(settings.trusted_proxies)
    if not encrypted and not settings.insecure_http and not all(ip_address(one).is_loopback for one in addresses):
        yield Mistake(
            "host",
            source,
            "tokens and passwords would cross the network unencrypted. Set tls_certificate and tls_key; or set "
            "trusted_proxies to the address of a proxy with TLS; or, in a network that you trust completely, add "
            "--insecure-http.",
        )
    if settings.public_url is None and any(ip_address(one).is_unspecified for one in addresses):
        yield Mistake(
            "public_url",
            source,
            "this means every address of the machine, so the address for tokens and links is not known. Set public_url to the "
            "address that clients use, such as https://gateway.example.com.",
        )


def _resolve(host: str) -> list[str]:
    """Return the IP addresses of a host name, or no address for an unknown name.

    With an unknown name, the start fails later, when the gateway begins to listen. That failure has its own message.
    """
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return [str(address[0]).partition("%")[0] for *_, address in found]
