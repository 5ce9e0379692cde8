"""The addresses at which browsers offer passkeys."""

import pytest

from domogate.identity.relying_party import RelyingParty, find_relying_party


@pytest.mark.parametrize(
    ("base_url", "relying_party"),
    [
        ("https://gateway.example", RelyingParty("gateway.example", "https://gateway.example")),
        ("https://Gateway.Example:443", RelyingParty("gateway.example", "https://gateway.example")),
        ("https://gateway.example:8443/path", RelyingParty("gateway.example", "https://gateway.example:8443")),
        ("http://localhost:8080", RelyingParty("localhost", "http://localhost:8080")),
        ("http://localhost:80", RelyingParty("localhost", "http://localhost")),
        ("http://home.localhost", RelyingParty("home.localhost", "http://home.localhost")),
    ],
)
def test_https_and_localhost(base_url: str, relying_party: RelyingParty) -> None:
    assert find_relying_party(base_url) == relying_party


@pytest.mark.parametrize(
    "base_url",
    [
        *("http://gateway.example", "http://notlocalhost", "http://localhost.example"),
        *("https://192.0.2.1", "https://[2001:db8::1]:8443", "http://127.0.0.1:8080", "https://gätter.example"),
    ],
)
def test_not_plain_http_nor_ip_addresses(base_url: str) -> None:
    assert find_relying_party(base_url) is None
