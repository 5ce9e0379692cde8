"""E1 switches all plugs of an ambient: the fault of its answer, if plugs fail in different ways (Decision 0024)."""

from typing import Any

import pytest

from domogate.domain.commands import Order
from domogate.domain.devices import DeviceKind
from domogate.domain.faults import (
    CommandNotSupported,
    DeviceOffline,
    DeviceRefused,
    DeviceTimeout,
    Fault,
    Internal,
)
from domogate.domain.ids import Id
from domogate.domain.plants import Ambient, Module
from domogate.domain.states import PlugState, Report
from domogate.services.plants.control import Control
from support.clocks import NOON, ManualClock
from support.devices import make_id

PLANT = make_id(1)
WORST_FIRST = (
    Internal("the call to the device failed"),
    DeviceTimeout("the plug did not answer"),
    DeviceRefused("the plug is locked"),
    CommandNotSupported("the plug has no switch"),
    DeviceOffline("the plug is offline"),
)
"""The order of Decision 0024."""


class FailingFabric:
    """Raises the fault that the test gave to the plug. A plug without a fault confirms."""

    def __init__(self, faults: dict[Id, Fault]) -> None:
        self._faults = faults

    async def execute(self, order: Order) -> Report:
        if order.module_id in self._faults:
            raise self._faults[order.module_id]
        return Report(order.plant_id, order.module_id, NOON, state=PlugState(on=True))


async def switch(*faults: Fault | None) -> None:
    """Switch on one plug for each of the faults. None is a plug that confirms."""
    plugs = [
        Module(id=make_id(number), internal_id=make_id(number), name=f"plug {number}", kind=DeviceKind.PLUG)
        for number in range(100, 100 + len(faults))
    ]
    fabric: Any = FailingFabric({plug.id: fault for plug, fault in zip(plugs, faults, strict=True) if fault})
    no_store: Any = None
    control = Control(fabric, no_store, ManualClock(NOON), deadline=5.0, max_age=60.0, max_ages={})
    await control.switch_plugs(PLANT, Ambient(make_id(2), make_id(2), "a room", modules=tuple(plugs)), on=True)


class TestDifferentFaults:
    @pytest.mark.parametrize("is_first", [True, False], ids=["worst-first", "worst-last"])
    @pytest.mark.parametrize("place", range(len(WORST_FIRST) - 1), ids=lambda place: type(WORST_FIRST[place]).__name__)
    async def test_the_worst_fault_is_the_answer_and_all_plugs_are_named(self, place: int, *, is_first: bool) -> None:
        worst, other = WORST_FIRST[place : place + 2]
        with pytest.raises(Fault) as raised:
            await switch(*((worst, None, other) if is_first else (other, None, worst)))
        assert type(raised.value) is type(worst)
        assert raised.value.message == f"2 of 3 plugs did not confirm: 'plug 100', 'plug 102'; {worst.message}"

    async def test_an_internal_error_of_the_only_plug_names_the_plug(self) -> None:
        with pytest.raises(Internal, match="1 of 1 plugs did not confirm: 'plug 100'; the call to the device failed"):
            await switch(Internal("the call to the device failed"))
