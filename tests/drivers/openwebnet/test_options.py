"""Options in the estate and settings of gateways, and the messages for wrong ones."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from domogate.domain.devices import DeviceKind
from domogate.drivers.openwebnet import OpenWebNetGateway
from domogate.drivers.openwebnet.kinds import KINDS, find_option_problems, make_device

GOOD: list[tuple[DeviceKind, dict[str, Any]]] = [
    (DeviceKind.LIGHT, {"where": "11"}),
    (DeviceKind.LIGHT, {"where": 11, "who": 1, "gateway": "home", "groups": [1, 255]}),
    (DeviceKind.LIGHT, {"where": "0311#4#02", "levels": 100}),
    (DeviceKind.LIGHT, {"where": "11", "color": True}),
    (DeviceKind.PLUG, {"where": "12", "meter": "71#0"}),
    (DeviceKind.HEATER, {"where": "13"}),
    (DeviceKind.LOCK, {"where": "14", "seconds": 0.5}),
    (DeviceKind.ACTIVATION, {"where": "15", "seconds": 30}),
    (DeviceKind.ACTIVATION, {"who": 0, "where": "01", "scenario": 16}),
    (DeviceKind.SCENE, {"where": "99#4#01", "scenario": 1}),
    (DeviceKind.AUTOMATION, {"where": "21", "position": True}),
    (DeviceKind.AUTOMATION, {"where": "22", "travel": 24.5}),
    (DeviceKind.CHRONOTHERMOSTAT, {"where": "1"}),
    (DeviceKind.CHRONOTHERMOSTAT, {"where": "#12"}),
    (DeviceKind.CHRONOTHERMOSTAT, {"where": "#0#3"}),
    (DeviceKind.CHRONOTHERMOSTAT, {"where": "#0"}),
    (DeviceKind.ENERGYMETER, {"where": "51"}),
    (DeviceKind.GATEWAY, {}),
]

BAD: list[tuple[DeviceKind, dict[str, Any], tuple[str, ...], str]] = [
    (DeviceKind.LIGHT, {}, (), "'where' is missing"),
    (DeviceKind.LIGHT, {"where": "1"}, ("where",), "one point"),
    (DeviceKind.LIGHT, {"where": "#3"}, ("where",), "one point"),
    (DeviceKind.LIGHT, {"where": None}, ("where",), "text is expected"),
    (DeviceKind.LIGHT, {"where": True}, ("where",), "text is expected"),
    (DeviceKind.LIGHT, {"where": "11", "levels": 50}, ("levels",), "1, 10, 100"),
    (DeviceKind.LIGHT, {"where": "11", "levels": True}, ("levels",), "1, 10, 100"),
    (DeviceKind.LIGHT, {"where": "11", "color": True, "levels": 10}, ("levels",), "leave it out"),
    (DeviceKind.LIGHT, {"where": "11", "color": "yes"}, ("color",), "true or false"),
    (DeviceKind.LIGHT, {"where": "11", "groups": [0]}, ("groups",), "1 to 255"),
    (DeviceKind.LIGHT, {"where": "11", "groups": 3}, ("groups",), "list"),
    (DeviceKind.LIGHT, {"where": "11", "speed": 3}, ("speed",), "does not exist"),
    (DeviceKind.LIGHT, {"where": "11", "who": 2}, ("who",), "WHO 1"),
    (DeviceKind.LIGHT, {"where": "11", "gateway": ""}, ("gateway",), "name of a gateway"),
    (DeviceKind.PLUG, {"where": "11", "meter": "11"}, ("meter",), "a meter"),
    (DeviceKind.LOCK, {"where": "11", "seconds": 3}, ("seconds",), "0.5"),
    (DeviceKind.ACTIVATION, {"who": 0, "where": "01"}, (), "'scenario' is missing"),
    (DeviceKind.ACTIVATION, {"who": 0, "where": "1", "scenario": 21}, ("scenario",), "1 to 20"),
    (DeviceKind.AUTOMATION, {"where": "21", "travel": 0}, ("travel",), "1..600"),
    (DeviceKind.CHRONOTHERMOSTAT, {"where": "0"}, ("where",), "a zone"),
    (DeviceKind.CHRONOTHERMOSTAT, {"where": "3#1"}, ("where",), "a zone"),
    (DeviceKind.ENERGYMETER, {"where": "11"}, ("where",), "a meter"),
    (DeviceKind.EMERGENCY_UNIT, {}, (), "no module of kind"),
]


class TestOptions:
    @pytest.mark.parametrize(("kind", "options"), GOOD, ids=str)
    def test_what_is_right_makes_a_device(self, kind: DeviceKind, options: dict[str, Any]) -> None:
        assert list(find_option_problems(kind, options)) == []
        device = make_device(kind, options, None)
        assert device.keys

    @pytest.mark.parametrize(("kind", "options", "path", "words"), BAD, ids=str)
    def test_what_is_wrong_is_told_with_its_place(
        self, kind: DeviceKind, options: dict[str, Any], path: tuple[str, ...], words: str
    ) -> None:
        assert any(at == path and words in problem for at, problem in find_option_problems(kind, options))

    @given(
        st.sampled_from(list(DeviceKind)),
        st.dictionaries(
            st.sampled_from(
                ["where", "who", "gateway", "levels", "color", "meter", "seconds", "scenario", "travel", "groups", "x"]
            ),
            st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.lists(st.integers())),
        ),
    )
    def test_whatever_is_written_either_has_a_problem_or_makes_a_device(
        self, kind: DeviceKind, options: dict[str, Any]
    ) -> None:
        if not list(find_option_problems(kind, options)):
            assert make_device(kind, options, None).kind is kind

    def test_every_kind_that_is_driven_is_among_those_that_are_right(self) -> None:
        assert {kind for kind, _ in GOOD} == set(KINDS)


class TestGatewaySettings:
    def test_they_read_as_a_table_of_settings(self, tmp_path: Any) -> None:
        (tmp_path / "password").write_text("abc123\n")
        table = {"name": "home", "host": "192.0.2.7", "password_file": str(tmp_path / "password")}
        gateway = msgspec.convert(table, OpenWebNetGateway)
        assert gateway.address == "192.0.2.7:20000"
        assert gateway.read_password() == "abc123"

    @pytest.mark.parametrize(
        ("fields", "words"),
        [
            ({"name": ""}, "not a name"),
            ({"host": ""}, "neither a name nor an address"),
            ({"host": "tcp://x"}, "neither a name nor an address"),
            ({"host": "bus..example"}, "neither a name nor an address"),
            ({"host": "x" * 64}, "neither a name nor an address"),
            ({"host": "bus\0"}, "neither a name nor an address"),
            ({"port": 0}, "1 to 65535"),
            ({"password": "with space"}, "letters and digits"),
            ({"password": "x" * 31}, "30"),
            ({"password": "1", "password_file": "f"}, "one of them"),
            ({"pasword": "1"}, "unknown field"),
        ],
    )
    def test_what_cannot_be_is_refused_in_words(self, fields: dict[str, Any], words: str) -> None:
        with pytest.raises(msgspec.ValidationError, match=words):
            msgspec.convert({"name": "home", "host": "192.0.2.7", **fields}, OpenWebNetGateway)

    @pytest.mark.parametrize("host", ["bus.example", "bus.example.", "büs.example", "192.0.2.7", "2001:db8::7", "fe80::7%eth0"])
    def test_names_and_addresses_are_hosts(self, host: str) -> None:
        assert OpenWebNetGateway(name="home", host=host).host == host

    def test_the_password_is_not_printed(self) -> None:
        assert "12345" not in repr(OpenWebNetGateway(name="home", host="192.0.2.7", password="12345"))

    @pytest.mark.parametrize("content", [None, "", "two words"])
    def test_a_password_file_that_holds_none_is_told(self, tmp_path: Any, content: str | None) -> None:
        if content is not None:
            (tmp_path / "password").write_text(content)
        gateway = OpenWebNetGateway(name="home", host="192.0.2.7", password_file=str(tmp_path / "password"))
        with pytest.raises(ValueError, match="password file of gateway 'home'"):
            gateway.read_password()
