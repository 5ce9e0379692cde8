"""Allowed addresses, and URLs that all parsers read the same way."""

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domogate.backends.addresses import AllowedAddresses, parse_target
from domogate.ports import Undelivered

PUBLIC = ("8.8.8.8", "1.1.1.1", "93.184.216.34", "2606:4700::1111", "2a00:1450:4001::64", "64:ff9b::8.8.8.8", "::ffff:8.8.8.8")
PRIVATE = (
    *("127.0.0.1", "127.8.9.10", "0.0.0.0", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254"),
    *("100.64.0.1", "192.0.0.8", "198.18.0.1", "224.0.0.1", "255.255.255.255", "240.0.0.1", "192.0.2.1", "192.88.99.1"),
    *("::", "::1", "fe80::1", "fe80::1%1", "fc00::1", "fd12:3456::1", "ff02::1", "fec0::1", "2001:db8::1", "3fff::1"),
    *("::ffff:10.0.0.1", "::ffff:127.0.0.1", "::127.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b:1::8.8.8.8", "100::1"),
    *("2002:0a00:0001::1", "2002:0808:0808::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "5f00::1", "4000::1"),
)


class TestAddresses:
    @pytest.mark.parametrize("address", PUBLIC)
    def test_public_ones_may_be_called(self, address: str) -> None:
        assert AllowedAddresses(()).permits(ip_address(address))

    @pytest.mark.parametrize("address", PRIVATE)
    def test_private_special_and_tunnelled_ones_may_not(self, address: str) -> None:
        assert not AllowedAddresses(()).permits(ip_address(address))

    @pytest.mark.parametrize("address", ["10.1.2.3", "::ffff:10.1.2.3", "::1", "fe80::7"])
    def test_those_an_operator_names_may(self, address: str) -> None:
        allowed = AllowedAddresses(("10.0.0.0/8", "::1", "fe80::/10"))
        assert allowed.permits(ip_address(address))
        assert allowed.is_listed(ip_address(address))

    def test_a_named_network_opens_no_other_and_no_way_around(self) -> None:
        allowed = AllowedAddresses(("10.0.0.0/8",))
        for address in ("192.168.0.1", "64:ff9b::10.0.0.1", "2002:0a00:0001::1", "127.0.0.1"):
            assert not allowed.permits(ip_address(address))
        assert not allowed.is_listed(ip_address("8.8.8.8"))

    @given(st.ip_addresses())
    def test_nothing_that_the_standard_library_knows_to_be_private_is_public(self, address: IPv4Address | IPv6Address) -> None:
        nat64 = ip_network("64:ff9b::/96")
        if AllowedAddresses(()).permits(address) and not (isinstance(address, IPv6Address) and address in nat64):
            plain = getattr(address, "ipv4_mapped", None) or address
            assert not plain.is_private
            assert not plain.is_multicast

    @given(st.ip_addresses(v=4))
    def test_an_address_inside_another_is_as_public_as_it_is_alone(self, address: IPv4Address) -> None:
        alone = AllowedAddresses(()).permits(address)
        assert AllowedAddresses(()).permits(ip_address(f"::ffff:{address}")) == alone
        assert AllowedAddresses(()).permits(ip_address(f"64:ff9b::{address}")) == alone


class TestUrls:
    @pytest.mark.parametrize(
        ("url", "host"),
        [
            ("https://receiver.example/hook?a=b", "receiver.example"),
            ("https://receiver.example:8443", "receiver.example"),
            ("https://bücher.example/", "xn--bcher-kva.example"),
            ("https://[2606:4700::1111]/", "2606:4700::1111"),
            ("HTTPS://Receiver.Example/", "receiver.example"),
            ("https://receiver.example./", "receiver.example."),
        ],
    )
    def test_a_plain_url_names_its_host(self, url: str, host: str) -> None:
        assert parse_target(url).host == host

    @pytest.mark.parametrize(
        "url",
        [
            *("", "receiver.example", "//receiver.example", "ftp://receiver.example", "file:///etc/passwd", "javascript:1"),
            *("https://", "https:///hook", "https://:443/", "https://receiver.example:0/", "https://receiver.example:99999/"),
            *("https://user@receiver.example/", "https://a:b@receiver.example/", "https://receiver.example\\@10.0.0.1/"),
            *("https://receiver.example/ hook", "https://receiver.example/\r\nHost: x", "https://receiver.example/#there"),
            *("http://2130706433/", "http://0x7f000001/", "http://017700000001/", "http://127.1/", "http://0177.0.0.1/"),
            *(
                "http://0x7f.0.0.1/",
                "http://127.0.0.1./",
                "https://example.1/",
                "https://a..b/",
                f"https://{'a' * 64}.example/",
            ),
            *("https://[fe80::1%25eth0]/", "https://[::1", "https://[nonsense]/", "https://receiver.example/\x00"),
            "https://receiver.example/" + "a" * 2000,
        ],
    )
    def test_ambiguous_urls_are_refused_with_a_reason(self, url: str) -> None:
        with pytest.raises(Undelivered, match=r"^The URL cannot be called: .+\.$") as refused:
            parse_target(url)
        assert refused.value.forbidden

    @given(st.text(max_size=60) | st.text(max_size=40).map(lambda text: f"https://{text}"))
    def test_any_text_is_a_target_or_is_refused(self, text: str) -> None:
        try:
            target = parse_target(text)
        except Undelivered:
            return
        assert target.host == target.url.raw_host
        assert target.url.scheme in ("http", "https")
        assert target.url.user is None
