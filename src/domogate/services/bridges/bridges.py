"""Runs the bridges. In a cluster, the gateway that drives a plant runs the bridges of this plant."""

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from domogate.common.log import get_logger
from domogate.common.tasks import cancel
from domogate.domain.events import Change, ChangesLost, PlantChanged, StateChanged, UserChanged
from domogate.domain.ids import Id
from domogate.domain.shards import shard_of

if TYPE_CHECKING:
    from domogate.services.bridges.bridge import Bridge

_log = get_logger(__name__)

_RETRY = 5.0
"""In seconds. After an unexpected error, a bridge starts again after this time."""
_SIGN_OFF = 1.0
"""In seconds. When the gateway stops, a bridge gets this time to publish that its modules are not available any more."""


class Bridges:
    """Starts and stops the bridges. Register `apply` as a listener of the store, after the listener of the read model."""

    def __init__(
        self,
        bridges: Sequence["Bridge"],
        *,
        holds: Callable[[Id], bool] | None = None,
        has_successor: Callable[[], bool] = lambda: False,
    ) -> None:
        """`holds` returns whether this gateway of a cluster holds a plant. None means that this gateway holds all plants.

        `has_successor` returns whether another gateway of the cluster runs the bridges that this gateway hands over.
        """
        self._bridges = tuple(bridges)
        self._holds = holds
        self._has_successor = has_successor
        self._by_plant: dict[Id, list[Bridge]] = {}
        self._running: dict[Bridge, asyncio.Task[None]] = {}

    @property
    def declared(self) -> int:
        """The number of bridges in the settings. If it is 0, the store need not call `apply` with the changes."""
        return len(self._bridges)

    @property
    def running(self) -> Collection["Bridge"]:
        return self._running.keys()

    async def start(self) -> None:
        if self._holds is None:
            self._start(self._bridges)

    async def stop(self) -> None:
        """Let each bridge publish that its modules are not available any more, and disconnect it from its broker."""
        await _sign_off(tuple(self._running))
        await self._end(tuple(self._running))

    def apply(self, changes: Sequence[Change]) -> None:
        if not self._running:
            return
        for change in changes:
            event = change.event
            if isinstance(event, StateChanged):
                for bridge in self._by_plant.get(event.plant_id, ()):
                    bridge.change_state(event.module_id)
            elif isinstance(event, PlantChanged):
                for bridge in self._by_plant.get(event.plant_id, ()):
                    bridge.change_all()
            elif isinstance(event, UserChanged | ChangesLost):
                for bridge in self._running:
                    if isinstance(event, ChangesLost) or bridge.user_id in (None, event.user_id):
                        bridge.change_all()

    # shards of a cluster

    def start_shards(self, shards: Collection[int]) -> None:
        """Run the bridges of the plants of these shards."""
        wanted = (bridge for bridge in self._bridges if shard_of(bridge.plan.plant_id) in shards)
        self._start(bridge for bridge in wanted if self._holds is None or self._holds(bridge.plan.plant_id))

    async def hand_over(self, shards: Collection[int]) -> None:
        """Disconnect the bridges of these shards.

        If no other gateway will run these bridges, first publish that their modules are not available.
        """
        if not self._has_successor():
            await _sign_off(self._list_running(shards))
        await self._end(self._list_running(shards))

    def drop_shards(self, shards: Collection[int]) -> None:
        """Stop the bridges of these shards at once, because another gateway may run these bridges already."""
        for bridge in self._list_running(shards):
            self._forget(bridge).cancel()

    def _list_running(self, shards: Collection[int]) -> list["Bridge"]:
        return [bridge for bridge in self._running if shard_of(bridge.plan.plant_id) in shards]

    # tasks

    def _start(self, bridges: Iterable["Bridge"]) -> None:
        for bridge in bridges:
            if bridge not in self._running:
                self._running[bridge] = asyncio.create_task(_keep_running(bridge), name=f"bridge {bridge.plan.plant_id}")
                self._by_plant.setdefault(bridge.plan.plant_id, []).append(bridge)

    async def _end(self, bridges: Collection["Bridge"]) -> None:
        await cancel(*[self._forget(bridge) for bridge in bridges])

    def _forget(self, bridge: "Bridge") -> asyncio.Task[None]:
        self._by_plant[bridge.plan.plant_id].remove(bridge)
        return self._running.pop(bridge)


async def _sign_off(bridges: Collection["Bridge"]) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(_SIGN_OFF):
            await asyncio.gather(*(bridge.sign_off() for bridge in bridges), return_exceptions=True)


async def _keep_running(bridge: "Bridge") -> None:
    """Run the bridge until this function is cancelled.

    A bridge with `active = false` only removes its retained messages from the broker. Then this function returns.
    """
    while not bridge.cleared.is_set():
        run = asyncio.create_task(bridge.run(), name="connection of a bridge")
        cleared = asyncio.create_task(bridge.cleared.wait(), name="removal of a bridge")
        try:
            await asyncio.wait((run, cleared), return_when=asyncio.FIRST_COMPLETED)
            if run.done():
                run.result()
        except Exception:
            _log.exception("a bridge failed; it starts again", plant=bridge.plan.plant_id, seconds=_RETRY)
            await asyncio.sleep(_RETRY)
        finally:
            await cancel(run, cleared)
