"""Control, fabric and driving for tests of orders, and two lamps."""

from domogate.domain.commands import OrderState, SetLight
from domogate.domain.devices import DeviceKind
from domogate.fabric.in_process import InProcessFabric
from domogate.services.driving import Driving
from domogate.services.driving.recorder import Orders
from domogate.services.plants.control import Control
from domogate.services.plants.scenes import Scenes
from support.clocks import ManualClock
from support.device_store import FakeStore
from support.devices import FakeDriver, make_id, make_module

LAMP = make_module(DeviceKind.LIGHT, make_id(100))
OTHER = make_module(DeviceKind.LIGHT, make_id(101))
ON, OFF = SetLight(on=True), SetLight(on=False)


class OrderSetup:
    """Control, fabric and driving on one store, with one driver."""

    def __init__(self, store: FakeStore, clock: ManualClock, driver: FakeDriver, deadline: float = 5.0) -> None:
        self.store, self.driver, self.clock = store, driver, clock
        self.orders = Orders(store, clock)
        self.driving = Driving(store, {driver.name: driver}, clock, simulated_plants=10)
        store.listen(self.driving.apply)
        fabric = InProcessFabric(clock)
        fabric.serve(self.driving)
        self.control = Control(fabric, store, clock, deadline=deadline, max_age=60.0, max_ages={})
        self.scenes = Scenes(self.control)

    async def __aenter__(self) -> "OrderSetup":
        await self.driving.start()
        await self.driving.start_plants()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.driving.stop()

    def states(self) -> list[OrderState]:
        return [record.state for record in self.store.orders.values()]
