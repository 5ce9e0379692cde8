"""The list of drivers and what each declares."""

import pytest

from domogate.domain.devices import DeviceKind
from domogate.drivers import DRIVERS, SETTINGS, build_drivers, check_options, make_settings
from support.clocks import NOON, ManualClock


class TestTheList:
    def test_knows_each_driver_by_its_own_name_and_builds_it(self) -> None:
        drivers = build_drivers(ManualClock(NOON), {})
        assert set(drivers) == set(DRIVERS) == {"simulator", "mqtt", "openwebnet"}
        assert all(driver.name == name for name, driver in drivers.items())

    def test_has_each_driver_check_the_options_of_its_modules(self) -> None:
        assert set(check_options({})) == set(DRIVERS)
        assert list(check_options({})["simulator"](DeviceKind.LIGHT, {"simulate": "offline"})) == []
        assert [path for path, _ in check_options({})["simulator"](DeviceKind.LIGHT, {"wats": 3})] == [("wats",)]


class TestSettings:
    def test_are_named_after_their_driver(self) -> None:
        assert set(SETTINGS) == {
            *("simulator_seed", "simulator_tick", "simulator_speed"),
            *("mqtt_brokers", "mqtt_bridges", "openwebnet_gateways"),
        }

    def test_a_default_passes_its_own_check(self) -> None:
        for one in SETTINGS.values():
            assert one.setting.check is None or one.setting.check(one.default) == one.default

    def test_go_to_the_driver_that_declares_them(self) -> None:
        made = make_settings({"simulator_seed": 7})
        assert {name: type(settings) for name, settings in made.items()} == {
            name: driver.settings for name, driver in DRIVERS.items()
        }
        assert DRIVERS["simulator"].settings_in(made).seed == 7
        assert made["mqtt"] == DRIVERS["mqtt"].settings()

    @pytest.mark.parametrize("name", ["mqtt_brokers", "openwebnet_gateways"])
    def test_one_that_holds_passwords_is_secret(self, name: str) -> None:
        assert SETTINGS[name].setting.secret
