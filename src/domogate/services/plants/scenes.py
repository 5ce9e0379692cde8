"""Running scenes: a list of commands on modules of the same plant."""

import asyncio
from collections.abc import Sequence

import structlog

from domogate.domain.commands import Order
from domogate.domain.faults import Fault
from domogate.domain.ids import Id
from domogate.domain.plants import Module, SceneDetail
from domogate.services.plants.control import Control

_log = structlog.get_logger(__name__)


class Scenes:
    """Starts scenes; their effects show in later reads (E5, Decision 0008)."""

    def __init__(self, control: Control) -> None:
        self._control = control
        self._running: set[asyncio.Task[None]] = set()

    async def run_scene(self, plant_id: Id, scene: Module) -> None:
        """Return once all its steps are on disk: from then on they are carried out even if this process dies. Raises Internal.

        A step that fails does not keep the others from being carried out; steps on the same module keep their order.
        """
        steps = scene.detail.steps if isinstance(scene.detail, SceneDetail) else ()
        if not steps:
            return
        of_module: dict[Id, list[Order]] = {}
        for order in await self._control.queue(plant_id, steps):
            of_module.setdefault(order.module_id, []).append(order)
        for orders in of_module.values():
            task = asyncio.create_task(self._send_in_order(scene, orders), name=f"scene {scene.id}")
            self._running.add(task)
            task.add_done_callback(self._running.discard)

    async def _send_in_order(self, scene: Module, orders: Sequence[Order]) -> None:
        for order in orders:
            told = {"plant": order.plant_id, "scene": scene.id, "module": order.module_id}
            try:
                await self._control.send(order)
            except Fault as fault:
                _log.warning("scene step failed", **told, fault=fault.message)
            except Exception:
                _log.exception("scene step failed unexpectedly", **told)

    async def finish(self) -> None:
        """Wait for what is running: each step ends by its own deadline."""
        if self._running:
            await asyncio.wait(self._running)
