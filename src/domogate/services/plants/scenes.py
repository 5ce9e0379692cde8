"""Runs scenes: lists of commands for modules of the same plant."""

import asyncio
from collections.abc import Sequence

from domogate.common.log import get_logger
from domogate.domain.commands import Order
from domogate.domain.faults import Fault
from domogate.domain.ids import Id
from domogate.domain.plants import Module, SceneDetail
from domogate.services.plants.control import Control

_log = get_logger(__name__)


class Scenes:
    """Starts scenes, and does not wait until their steps are executed. Later reads show the new states (E5, Decision 0008)."""

    def __init__(self, control: Control) -> None:
        self._control = control
        self._running: set[asyncio.Task[None]] = set()

    async def run_scene(self, plant_id: Id, scene: Module, *, by: Id | None = None) -> None:
        """Start the scene. Wait until all steps are on disk, but not until they are executed.

        If this process ends after that, the next process executes the remaining steps. It executes only steps whose deadline
        has not passed. Raises Internal if the steps cannot be written.

        If a step fails, the other steps are still executed. Steps for the same module stay in order.
        """
        steps = scene.detail.steps if isinstance(scene.detail, SceneDetail) else ()
        if not steps:
            return
        by_module: dict[Id, list[Order]] = {}
        for order in await self._control.queue(plant_id, steps, by=by):
            by_module.setdefault(order.module_id, []).append(order)
        for orders in by_module.values():
            task = asyncio.create_task(self._send_in_sequence(scene, orders), name=f"scene {scene.id}")
            self._running.add(task)
            task.add_done_callback(self._running.discard)

    async def _send_in_sequence(self, scene: Module, orders: Sequence[Order]) -> None:
        for order in orders:
            context = {"plant": order.plant_id, "scene": scene.id, "module": order.module_id}
            try:
                await self._control.send(order)
            except Fault as fault:
                _log.warning("scene step failed", **context, fault=fault.message)
            except Exception:
                _log.exception("scene step failed unexpectedly", **context)

    async def finish(self) -> None:
        """Wait for running scenes. Each step ends at its deadline at the latest."""
        if self._running:
            await asyncio.wait(self._running)
