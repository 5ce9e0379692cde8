"""The register of drivers."""

from domogate.domain.devices import DeviceKind
from domogate.drivers import DRIVERS, OPTION_CHECKS, build_drivers
from support.devices import StillClock


class TestTheRegister:
    def test_knows_each_driver_by_its_own_name_and_builds_it(self) -> None:
        nothing_to_drive = {"mqtt": {"brokers": ()}, "openwebnet": {"gateways": ()}}
        drivers = build_drivers(StillClock(), {"simulator": {"seed": 1, "tick": 5.0}, **nothing_to_drive})
        assert set(drivers) == set(DRIVERS) == {"simulator", "mqtt", "openwebnet"}
        assert all(driver.name == name for name, driver in drivers.items())

    def test_has_each_driver_check_the_options_of_its_modules(self) -> None:
        assert set(OPTION_CHECKS) == set(DRIVERS)
        assert list(OPTION_CHECKS["simulator"](DeviceKind.LIGHT, {"simulate": "offline"})) == []
        assert [path for path, _ in OPTION_CHECKS["simulator"](DeviceKind.LIGHT, {"wats": 3})] == [("wats",)]
