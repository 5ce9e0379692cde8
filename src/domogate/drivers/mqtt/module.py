"""A driven module: its properties, its reachability, and the calls that wait for its answer."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from domogate.domain.faults import DeviceRefused, Fault
from domogate.domain.ids import Id
from domogate.domain.reachability import Absence, AbsenceReason, Evidence
from domogate.domain.states import (
    CameraState,
    EmergencyState,
    LightState,
    LightTarget,
    Reading,
    Report,
    State,
    ThermostatState,
    without_readings,
)
from domogate.drivers.mqtt.emergency import restore_properties
from domogate.drivers.mqtt.kinds import make_state, unconfirmed
from domogate.drivers.mqtt.pictures import CameraPictures
from domogate.drivers.mqtt.properties import MEASURES, NOT_STATE, Codec, Properties, QueuePolicy
from domogate.ports import AttachedModule

READING_EVERY = 10.0
"""Seconds between two readings of the same measure in the history. The state always has the newest value.

If the clock was set back by at least this number of seconds, the next reading is stored at once.
"""


_Reported = tuple[State | None, bool, AbsenceReason | None]


def _reported(attached: AttachedModule) -> _Reported:
    """Return the stored state and reachability from the last report of a driver. The reason of an absence is left out (None).

    If no driver has reported the stored state, return no state, and count the module as reachable.
    """
    return (attached.last.state, attached.last.reachable, None) if attached.reported_at else (None, True, None)


class PendingCall:
    """A call that waits until the module has confirmed the wanted properties.

    If no properties are wanted, the call waits until the module reports its state.
    """

    __slots__ = ("answered", "wanted")

    def __init__(self, wanted: Properties) -> None:
        self.wanted = wanted
        self.answered: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def receive(self, properties: Properties) -> None:
        if properties.keys() <= NOT_STATE:
            return
        self.wanted = unconfirmed(self.wanted, properties)
        if not self.wanted:
            self.end()

    def end(self, fault: Fault | None = None) -> None:
        if self.answered.done():
            return
        if fault is None:
            self.answered.set_result(None)
        else:
            self.answered.set_exception(fault)
            self.answered.exception()  # marks the exception as retrieved: the caller may have stopped waiting


class DrivenModule:
    """One driven module: its properties, its reachability, and the calls that wait for its answer."""

    def __init__(
        self,
        plant_id: Id,
        attached: AttachedModule,
        codec: Codec,
        silent_after: float | None,
        *,
        monotonic: Callable[[], float],
        gives_pictures: bool = False,
    ) -> None:
        self.plant_id = plant_id
        self.id = attached.module.id
        self.kind = attached.module.kind
        self.name = attached.module.name
        self.codec = codec
        self.silent_after = silent_after
        self.state: State | None = attached.last.state if attached.reported_at else None
        self.pictures = CameraPictures() if gives_pictures else None
        if self.pictures is not None and isinstance(self.state, CameraState):
            self.pictures.set_on(self.state.on, 0.0)
        self.received_at: float | None = None
        """The time of the last message about the state.

        It is None before the first such message. It is also None if the state may have changed since the last such message.
        """
        self._monotonic = monotonic
        self._quiet_since = monotonic()
        """The time (monotonic) from which silence counts. It is the latest of four times: the subscription, the last message
        about the state, the last picture, and the last message that the module is online.
        """
        self.subscribed_since: float | None = None
        """The time when the topics of the module were subscribed. None if they are not subscribed."""
        self.unanswered = False
        """True if an order or a read was sent and no answer has arrived since then."""
        self.removed = False
        """True if the module is no longer driven."""
        self._known = bool(attached.reported_at)
        """True if the module has reported something, before or after the last restart."""
        before = self.state
        self._properties = restore_properties(before) if isinstance(before, EmergencyState) else Properties()
        if isinstance(before, ThermostatState) and "function" not in codec.always:
            self._properties["function"] = before.function  # Many thermostats do not report it while they are off.
        self.preset = before.target if isinstance(before, LightState) and not before.on else None
        """The level and colour that were ordered while the light was off. They are sent when the light is switched on."""
        self._readings: dict[str, Reading] = {}
        self._history_at: dict[str, float] = {}
        self._reported = _reported(attached)
        self._calls: list[PendingCall] = []
        self._connection_absence: Absence | None = None
        self._refusal_absence: Absence | None = None
        self._availability_absences: dict[str, Absence | None] = {}
        self._silence_absence: Absence | None = None

    def update(self, attached: AttachedModule) -> None:
        """Use the name and the stored state of a module that was attached again with the same options.

        The next report is compared with this stored state.
        """
        self.name = attached.module.name
        self._reported = _reported(attached)

    # reachability

    @property
    def absence(self) -> Absence | None:
        """The reason why the module cannot be reached, or None if no reason is known.

        Of several reasons, the first in this order counts: lost connection, refused topic, availability message, silence.
        """
        unavailable = (absence for absence in self._availability_absences.values() if absence is not None)
        return self._connection_absence or self._refusal_absence or next(unavailable, None) or self._silence_absence

    def lose_connection(self, why: AbsenceReason, evidence: str, now: float) -> None:
        self.subscribed_since = None
        if self._connection_absence is None or self._connection_absence.why is not why:
            self._connection_absence = Absence(why, now, evidence)
        else:
            self._connection_absence = Absence(why, self._connection_absence.since, evidence)

    def set_subscribed(self, now: float) -> None:
        """Remember that the topics of the module are subscribed from `now` on. Forget earlier problems of the connection."""
        self._connection_absence = self._refusal_absence = None
        self.subscribed_since, self._quiet_since = now, self._monotonic()

    def refuse_topic(self, topic: str, words: str, now: float) -> None:
        self._refusal_absence = Absence.of(AbsenceReason.REFUSED, now, Evidence.TOPIC_REFUSED, topic=topic, answer=words)

    def check_silence(self, now: float, never_after: float) -> None:
        """Store an absence if the topics of the module are subscribed and the module has been silent for too long.

        If the option `silentAfter` is set, it is the limit. A module that has never reported, not even before the last restart,
        has the limit `never_after` in any case. If it has both limits, the shorter one counts.
        """
        if self._silence_absence is not None or self.subscribed_since is None or not self.codec.topics:
            return  # A module without topics cannot send a message.
        quiet = self._monotonic() - self._quiet_since
        topic, since = self._state_topic, now - quiet
        if not self._known and quiet >= never_after:
            self._silence_absence = Absence.of(AbsenceReason.NEVER_SEEN, since, Evidence.TOPIC_NEVER_HEARD, topic=topic)
        elif self.silent_after is not None and quiet >= self.silent_after:
            seconds = f"{self.silent_after:g}"
            self._silence_absence = Absence.of(AbsenceReason.SILENT, since, Evidence.TOPIC_SILENT, topic=topic, seconds=seconds)

    @property
    def _state_topic(self) -> str:
        topics = self.codec.topics.items()
        reports = [topic for topic, how in topics if how.qos == 0 and how.policy is not QueuePolicy.DURING_CALLS]
        return next(reversed(reports or [*self.codec.topics]), "")

    # incoming messages

    def receive(self, topic: str, payload: bytes, now: float) -> None:
        """Decode a message, and update the properties and the waiting calls.

        Raises Unreadable if the message cannot be decoded.
        """
        properties = self.codec.decode(topic, payload)
        if self.pictures is not None and "picture" in properties:
            self.pictures.receive(properties["picture"], now)
            self._end_silence()
        if "available" in properties:
            self._set_availability(topic, properties["available"], payload, now)
        if "refusal" in properties:
            for call in self._calls:
                call.end(DeviceRefused(f"the device refused: {properties['refusal']}"))
        if not properties or properties.keys() <= NOT_STATE:
            if properties.get("available") and self.state is None:
                self._update_state()  # A module of kind gateway has no other message than its availability.
            return
        self.received_at, self.unanswered = now, False
        self._end_silence()
        self._merge(properties, now)
        self._update_state()
        if self.pictures is not None and isinstance(self.state, CameraState):
            self.pictures.set_on(self.state.on, now)
        for call in self._calls:
            call.receive(properties)

    def _end_silence(self) -> None:
        self._quiet_since, self._known, self._silence_absence = self._monotonic(), True, None

    def _set_availability(self, topic: str, available: bool, payload: bytes, now: float) -> None:
        if available:
            self._availability_absences[topic] = None
            self._quiet_since, self._known = self._monotonic(), True
            # Brokers keep this message, so it does not prove that a silent module works again.
            if self._silence_absence is not None and self._silence_absence.why is AbsenceReason.NEVER_SEEN:
                self._silence_absence = None
        elif self._availability_absences.get(topic) is None:
            self.received_at = None  # When the module is online again, its state may be different.
            self._availability_absences[topic] = Absence(
                AbsenceReason.ANNOUNCED, now, f"{topic}: {payload[:100].decode(errors='replace')}"
            )

    def _merge(self, properties: Properties, now: float) -> None:
        sockets = {**self._properties.get("sockets", {}), **properties.get("sockets", {})}
        failures = {**self._properties.get("failures", {}), **properties.get("failures", {})}
        self._properties.update(properties)
        if failures:
            self._properties["failures"] = failures
        if sockets:
            self._properties["sockets"] = sockets
        for what, unit in MEASURES.items():
            value = properties.get(what)
            before = self._readings.get(what)
            if value is not None and (before is None or before.value != value or abs(now - before.at) >= READING_EVERY):
                self._readings[what] = Reading(value, unit, now)

    def _update_state(self) -> None:
        self.state = make_state(self.kind, self._properties, self._readings) or self.state
        if isinstance(self.state, LightState):
            if self.state.on:
                self.preset = None
            if self.preset is not None:
                level, color = self.preset.level, self.preset.color
                self.state = LightState(on=False, level=level, color=color, target=self.preset)

    def set_preset(self, preset: LightTarget) -> None:
        """Store this level and colour of a light that is off. They are sent when the light is switched on."""
        self.preset = preset
        self._update_state()

    def has_reported(self, what: str) -> bool:
        return what in self._properties

    # calls

    @contextmanager
    def expect(self, wanted: Properties) -> Iterator[PendingCall]:
        """Make a call that waits for the properties `wanted`, and yield it.

        Inside the `with` block, this call gets the messages of the module.
        """
        call = PendingCall(wanted)
        self._calls.append(call)
        try:
            yield call
        finally:
            self._calls.remove(call)

    def end_calls(self, fault: Fault) -> None:
        for call in self._calls:
            call.end(type(fault)(fault.message))
        if self.pictures is not None:
            self.pictures.changed.notify()

    # reports

    @property
    def has_changes(self) -> bool:
        absence = self.absence
        if self.removed or (absence is None and not self._known):
            return False
        return self._reported != (self.state, absence is None, None if absence is None else absence.why)

    @property
    def is_urgent(self) -> bool:
        state, reachable, _ = self._reported
        return reachable != (self.absence is None) or without_readings(state) != without_readings(self.state)

    def report(self, now: float) -> Report:
        """Return a report with the whole state of the module. This state counts as reported from now on."""
        absence = self.absence
        self._reported = (self.state, absence is None, None if absence is None else absence.why)
        return Report(
            self.plant_id,
            self.id,
            now,
            state=self.state,
            reachable=absence is None,
            readings=tuple(self._new_readings()),
            absence=absence,
        )

    def take_back(self, report: Report) -> None:
        """Remember that the recorder refused the report.

        The next report has the whole state, and a reading of each measure in `report`.
        """
        self._reported = (None, False, AbsenceReason.NEVER_SEEN)
        for what, _ in report.readings:
            self._history_at.pop(what, None)

    def _new_readings(self) -> Iterator[tuple[str, Reading]]:
        for what, reading in self._readings.items():
            kept_at = self._history_at.get(what)
            if kept_at is None or abs(reading.at - kept_at) >= READING_EVERY:
                self._history_at[what] = reading.at
                yield what, reading


class MisconfiguredModule:
    """A module that cannot be driven, because its options are wrong or its broker is not in the settings."""

    def __init__(self, plant_id: Id, attached: AttachedModule, absence: Absence) -> None:
        self.plant_id = plant_id
        self.id = attached.module.id
        self.absence = absence
        self.has_changes = True
        self.is_urgent = True

    def report(self, now: float) -> Report:
        self.has_changes = False
        return Report(self.plant_id, self.id, now, reachable=False, absence=self.absence)

    def take_back(self, _report: Report) -> None:
        self.has_changes = True
