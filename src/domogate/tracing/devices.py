"""Spans of orders, questions and calls to drivers."""

from collections.abc import Awaitable, Sequence
from typing import TypeVar

from opentelemetry.trace import SpanKind, Tracer, get_current_span

from domogate.domain.commands import Order
from domogate.domain.ids import Id
from domogate.domain.states import Report
from domogate.ports import AttachedModule, ConnectionHealth, DeviceHost, Driver, HasConnections, Picture, ReportSink
from domogate.tracing.spans import make_span
from domogate.tracing.webhooks import ChangeContexts

T = TypeVar("T")


class TracedHost:
    """Makes a span for each order and question that this gateway carries out. Implements DeviceHost."""

    def __init__(self, host: DeviceHost, tracer: Tracer) -> None:
        self._host = host
        self._tracer = tracer

    async def execute(self, order: Order) -> Report:
        """Execute the order in a span. The span has the events `queued`, `sent` (if the driver got the order) and `done`."""
        attributes = {
            "domogate.command": type(order.command).__name__,
            "domogate.plant_id": order.plant_id,
            "domogate.module_id": order.module_id,
        }
        with make_span(self._tracer, "order", SpanKind.INTERNAL, attributes) as span:
            span.add_event("queued")
            try:
                return await self._host.execute(order)
            finally:
                span.add_event("done")

    async def read(self, plant_id: Id, module_id: Id, deadline: float) -> Report:
        return await self._ask("read", plant_id, module_id, self._host.read(plant_id, module_id, deadline))

    async def take_picture(self, plant_id: Id, module_id: Id, deadline: float) -> Picture:
        return await self._ask("picture", plant_id, module_id, self._host.take_picture(plant_id, module_id, deadline))

    async def _ask(self, name: str, plant_id: Id, module_id: Id, work: Awaitable[T]) -> T:
        attributes = {"domogate.plant_id": plant_id, "domogate.module_id": module_id}
        with make_span(self._tracer, name, SpanKind.INTERNAL, attributes):
            return await work


class TracedDriver:
    """Makes a span for each call to a driver, and remembers which trace a confirmed state belongs to. Implements Driver."""

    def __init__(self, driver: Driver, tracer: Tracer, contexts: ChangeContexts) -> None:
        self.name = driver.name
        self._driver = driver
        self._tracer = tracer
        self._contexts = contexts

    async def start(self, report: ReportSink) -> None:
        await self._driver.start(report)

    async def stop(self) -> None:
        await self._driver.stop()

    async def wait_failed(self) -> Exception:
        return await self._driver.wait_failed()

    async def attach(self, plant_id: Id, modules: Sequence[AttachedModule]) -> None:
        await self._driver.attach(plant_id, modules)

    async def detach(self, plant_id: Id) -> None:
        await self._driver.detach(plant_id)

    async def execute(self, order: Order) -> Report:
        get_current_span().add_event("sent")
        report = await self._call("execute", self._driver.execute(order))
        self._contexts.remember(report)
        return report

    async def read(self, plant_id: Id, module_id: Id, deadline: float) -> Report:
        return await self._call("read", self._driver.read(plant_id, module_id, deadline))

    async def take_picture(self, plant_id: Id, module_id: Id, deadline: float, /) -> Picture:
        return await self._call("take_picture", self._driver.take_picture(plant_id, module_id, deadline))

    async def _call(self, what: str, work: Awaitable[T]) -> T:
        with make_span(self._tracer, f"driver {what}", SpanKind.CLIENT, {"domogate.driver": self.name}):
            return await work


class ConnectedTracedDriver(TracedDriver):
    """A traced driver that has connections. Implements HasConnections."""

    def __init__(self, driver: Driver, connections: HasConnections, tracer: Tracer, contexts: ChangeContexts) -> None:
        super().__init__(driver, tracer, contexts)
        self._connections = connections

    def list_connections(self) -> Sequence[ConnectionHealth]:
        return self._connections.list_connections()


def trace_driver(driver: Driver, tracer: Tracer, contexts: ChangeContexts) -> Driver:
    if isinstance(driver, HasConnections):
        return ConnectedTracedDriver(driver, driver, tracer, contexts)
    return TracedDriver(driver, tracer, contexts)
