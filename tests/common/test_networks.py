import pytest

from domogate.common.networks import network_of


class TestNetworks:
    @pytest.mark.parametrize(
        ("address", "network"),
        [
            ("192.0.2.1", "192.0.2.1"),
            ("::ffff:192.0.2.1", "192.0.2.1"),
            ("2001:db8:1:2::9", "2001:db8:1:2::/64"),
            ("fe80::1%eth0", "fe80::/64"),
            ("", ""),
            ("unix", "unix"),
        ],
    )
    def test_an_ipv6_address_counts_as_its_network(self, address: str, network: str) -> None:
        assert network_of(address) == network

    def test_a_text_that_is_not_an_address_is_cut(self) -> None:
        assert len(network_of("x" * 30_000)) == 64
