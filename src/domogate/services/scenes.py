"""Running scenes: a list of commands on modules of the same plant."""

import asyncio

import structlog

from domogate.domain.commands import Command
from domogate.domain.faults import Fault
from domogate.domain.ids import Id
from domogate.domain.plants import Module, SceneDetail
from domogate.services.control import Control

_log = structlog.get_logger(__name__)


class Scenes:
    """Starts scenes; their effects show in later reads (E5, Decision 0008)."""

    def __init__(self, control: Control) -> None:
        self._control = control
        self._running: set[asyncio.Task[None]] = set()

    def run_scene(self, plant_id: Id, scene: Module) -> None:
        """Start it and return: a step that fails does not keep the others from being carried out."""
        steps = scene.detail.steps if isinstance(scene.detail, SceneDetail) else ()
        for step in steps:
            task = asyncio.create_task(self._run_step(plant_id, scene, step.module_id, step.command))
            self._running.add(task)
            task.add_done_callback(self._running.discard)

    async def _run_step(self, plant_id: Id, scene: Module, module_id: Id, command: Command) -> None:
        try:
            await self._control.execute(plant_id, module_id, command)
        except Fault as fault:
            _log.warning("scene step failed", plant=plant_id, scene=scene.id, module=module_id, fault=fault.message)
        except Exception:
            _log.exception("scene step failed unexpectedly", plant=plant_id, scene=scene.id, module=module_id)

    async def finish(self) -> None:
        """Wait for what is running: each step ends by its own deadline."""
        if self._running:
            await asyncio.wait(self._running)
