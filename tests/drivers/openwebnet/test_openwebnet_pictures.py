"""A bus has no pictures: a request for one is refused at once."""

import pytest

from domogate.domain.devices import DeviceKind
from domogate.domain.faults import DeviceOffline, DeviceRefused
from domogate.drivers.openwebnet.driver import OpenWebNet
from support.clocks import NOON, ManualClock
from support.devices import make_attached, make_id


async def test_a_module_on_a_bus_refuses_and_one_that_is_not_there_is_offline() -> None:
    clock = ManualClock(NOON)
    driver = OpenWebNet(clock, ())
    panel = make_attached(DeviceKind.AUDIOVIDEO_UNIT, driver="openwebnet")
    await driver.attach(make_id(1), [panel])
    with pytest.raises(DeviceRefused, match="no pictures"):
        await driver.take_picture(make_id(1), panel.module.id, clock.now() + 5)
    with pytest.raises(DeviceOffline):
        await driver.take_picture(make_id(1), make_id(2), clock.now() + 5)
