"""Sends the commands of residents, and says how each command ended."""

import asyncio
from collections.abc import Sequence
from enum import StrEnum

import msgspec

from domogate.common.window_limiter import WindowLimiter
from domogate.domain.commands import OrderRecord, OrderState
from domogate.domain.devices import DeviceKind
from domogate.domain.events import Change, StateChanged
from domogate.domain.faults import Fault, ValueOutOfRange
from domogate.domain.ids import Id
from domogate.domain.people import Principal
from domogate.domain.plants import Module
from domogate.domain.states import CameraState
from domogate.ports import Audit, Clock, FeedStore, Picture, StoreUnavailable
from domogate.services.audit import AuditAction, AuditResult, client_ref, note_command
from domogate.services.homes.homes import DOOR_SCOPE, Home, uses_doors
from domogate.services.homes.limits import PersonLimits
from domogate.services.plants.control import Control
from domogate.services.plants.read_model import ModuleView, ReadModel
from domogate.services.plants.scenes import Scenes
from domogate.services.refusals import Conflict, Forbidden, Reason
from domogate.wire.commands import CommandBody, to_command, word_of

LONGEST_KEY = 64
_NOTE_PICTURES_EVERY = 60.0
_LAST_READ = 0.1
"""In seconds. If the plant must be read again after a command, it must be read within this time after the order's deadline."""
MOST_CHANGES = 1_000
"""The largest number of changes that are read to find out whether a module could be reached at an earlier time.

The number is high, because most changes are new measured values, which do not show when the reachability changed.
"""


class Outcome(StrEnum):
    """The result of a command, in words that a resident understands."""

    CONFIRMED = "confirmed"
    UNANSWERED = "unanswered"
    """The device did not answer in time, but may have executed the command. Or the gateway did not send the command in time."""
    UNREACHABLE = "unreachable"
    """The device cannot be reached, so it did not get the command."""
    REFUSED = "refused"
    UNKNOWN = "unknown"
    """The gateway stopped before the device answered, or could not store the outcome. Or an earlier request with the same
    idempotency key still waits for the answer of the device.
    """


_OUTCOME_OF = {
    OrderState.CONFIRMED: Outcome.CONFIRMED,
    OrderState.EXPIRED: Outcome.UNANSWERED,
    OrderState.FAILED: Outcome.REFUSED,
}


def outcome_of(record: OrderRecord, *, reachable: bool) -> Outcome:
    """Return the outcome for the resident. `reachable`: whether the module could be reached when the order ended."""
    outcome = _OUTCOME_OF.get(record.state, Outcome.UNKNOWN)
    return Outcome.UNREACHABLE if outcome is Outcome.REFUSED and not reachable else outcome


def was_reachable(view: ModuleView, record: OrderRecord, changes: Sequence[Change]) -> bool:
    """Whether the module could be reached when the order ended. `changes` are the newest changes of its plant, in order."""
    ended_at = record.ended_at or record.queued_at
    reachable = view.reachable
    for change in changes:
        event = change.event
        if isinstance(event, StateChanged) and event.turned and event.module_id == view.module.id:
            if change.at > ended_at:
                return not event.reachable
            reachable = event.reachable
    return reachable


class CommandResult(msgspec.Struct, frozen=True):
    record: OrderRecord
    outcome: Outcome
    view: ModuleView


class HomeCommands:
    """Executes commands, runs scenes and takes camera pictures for residents, and notes them in the audit log."""

    def __init__(
        self,
        read_model: ReadModel,
        control: Control,
        scenes: Scenes,
        store: FeedStore,
        limits: PersonLimits,
        clock: Clock,
        audit: Audit,
    ) -> None:
        self._read_model = read_model
        self._control = control
        self._scenes = scenes
        self._store = store
        self._limits = limits
        self._clock = clock
        self._audit = audit
        self._pictures_noted = WindowLimiter(1, _NOTE_PICTURES_EVERY)

    async def send(
        self, principal: Principal, home: Home, module_id: Id, body: CommandBody, *, key: str | None, address: str
    ) -> CommandResult:
        """Send a command, and return its result. `key` is an idempotency key of this person.

        If the person sent the same command with this key before, nothing is sent. The result is then about the earlier command.
        If the key was used for another command or module, this method raises OrderKeyTaken. Also raises NoSuchModule,
        Forbidden, ValueOutOfRange, TooManyRequests, Internal.
        """
        view = home.find_module(module_id)
        module = view.module
        command = to_command(body, module, view.state, self._clock.now())
        _check_doors(home, module)
        order_id = None if key is None else _order_id(principal.user_id, key)
        what = f"home {word_of(command)}:{module.id} by {client_ref(principal.client_id)}"
        try:
            with self._limits.hold(principal.user_id):
                record = await self._control.order(home.plant.id, module.id, command, key=order_id, by=principal.user_id)
        except Fault as fault:
            note_command(self._audit, principal.user_id, what, fault, address)
            raise
        note_command(self._audit, principal.user_id, what, record, address)
        view = await self._find_again(view, record.order.deadline)
        reachable = view.reachable
        if key is not None and record.state is OrderState.FAILED:  # The order may have ended long ago.
            reachable = was_reachable(view, record, await self._store.list_newest_of(home.plant.id, MOST_CHANGES))
        return CommandResult(record, outcome_of(record, reachable=reachable), view)

    async def _find_again(self, view: ModuleView, deadline: float) -> ModuleView:
        """Return the module as it is after a command.

        If the plant changed while the device answered, `view` gets no new states any more, so the plant is read again. If the
        plant cannot be read in time, or the module was deleted, return `view`.
        """
        try:
            async with asyncio.timeout(max(0.0, deadline - self._clock.now()) + _LAST_READ):
                plant = await self._read_model.get_plant(view.plant_id)
        except (TimeoutError, StoreUnavailable):
            plant = None
        return view if plant is None else plant.modules.get(view.module.id, view)

    async def run_scene(self, principal: Principal, home: Home, module_id: Id, *, address: str) -> None:
        """Start a scene. Wait until all its steps are stored, but not until they are executed.

        Raises NoSuchModule, Forbidden, ValueOutOfRange, TooManyRequests, Internal.
        """
        module = home.find_module(module_id).module
        if module.kind is not DeviceKind.SCENE:
            raise ValueOutOfRange(f"only a scene can be run; this is a module of kind {module.kind}")
        _check_doors(home, module)
        with self._limits.hold(principal.user_id):
            await self._scenes.run_scene(home.plant.id, module, by=principal.user_id)
        what = f"home run scene:{module.id} by {client_ref(principal.client_id)}"
        self._audit.note(AuditAction.COMMAND, who=principal.user_id, what=what, result=AuditResult.OK, address=address)

    async def take_picture(self, principal: Principal, home: Home, module_id: Id, *, address: str) -> Picture:
        """Return a picture of a camera. Raises Conflict if the camera is off.

        Also raises NoSuchModule, Forbidden, ValueOutOfRange, TooManyRequests, DeviceOffline, DeviceTimeout, DeviceRefused,
        Internal.
        """
        view = home.find_module(module_id)
        if view.module.kind is not DeviceKind.AUDIOVIDEO_UNIT:
            raise ValueOutOfRange(f"only a camera has a picture; this is a module of kind {view.module.kind}")
        _check_doors(home, view.module)
        if isinstance(view.state, CameraState) and not view.state.on:
            raise Conflict("The camera is off. Switch it on first.", Reason.CAMERA_OFF)
        with self._limits.hold(principal.user_id):
            picture = await self._control.take_picture(view)
        self._note_picture(principal, module_id, address)
        return picture

    def _note_picture(self, principal: Principal, module_id: Id, address: str) -> None:
        """Write an audit entry for the first picture of each minute, for each person and camera.

        A page polls for pictures. An entry for each picture would only make the log longer.
        """
        viewer, now = f"{principal.user_id} {module_id}", self._clock.now()
        if self._pictures_noted.wait(viewer, now):
            return
        self._pictures_noted.count(viewer, now)
        what = f"home picture module:{module_id} by {client_ref(principal.client_id)}"
        self._audit.note(AuditAction.PICTURE_TAKEN, who=principal.user_id, what=what, result=AuditResult.OK, address=address)


def _check_doors(home: Home, module: Module) -> None:
    if uses_doors(module) and not home.may_use_doors:
        raise Forbidden(f"The application may not use doors and cameras: its token needs the scope {DOOR_SCOPE}, too.")


def _order_id(user_id: Id, key: str) -> str:
    """Return an order id for an idempotency key of the person. Two people who use the same key get different ids.

    Raises ValueOutOfRange if the key is not allowed.
    """
    if not (0 < len(key) <= LONGEST_KEY and key.isprintable()):
        raise ValueOutOfRange(f"an idempotency key is 1 to {LONGEST_KEY} printable characters")
    return f"home-{user_id}-{key}"
