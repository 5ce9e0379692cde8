"""A module that is driven: what was heard of it, whether it can be reached, and who waits for its answer."""

import asyncio
from collections.abc import Iterator

from domogate.domain.faults import DeviceRefused, Fault
from domogate.domain.ids import Id
from domogate.domain.reachability import Absence, AbsenceReason
from domogate.domain.states import CameraState, Reading, Report, State
from domogate.drivers.mqtt.facts import ABOUT_THE_WAY, MEASURES, Facts, Speech
from domogate.drivers.mqtt.kinds import UNITS, fold, still_wanted
from domogate.drivers.mqtt.pictures import Pictures
from domogate.ports import AttachedModule

READING_EVERY = 10.0
"""Seconds between two readings of the same measure that are kept as history. The state always has the newest."""


_Reported = tuple[State | None, bool, AbsenceReason | None]


def _reported(placed: AttachedModule) -> _Reported:
    """What is known of it outside; a state that no driver has vouched for counts as none."""
    return (placed.last.state, placed.last.reachable, None) if placed.reported_at else (None, True, None)


class Wait:
    """Somebody waits until the module has confirmed what is wanted; nothing wanted: until it says anything of its state."""

    __slots__ = ("answered", "wanted")

    def __init__(self, wanted: Facts) -> None:
        self.wanted = wanted
        self.answered: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def hear(self, facts: Facts) -> None:
        if facts.keys() <= ABOUT_THE_WAY:
            return
        self.wanted = still_wanted(self.wanted, facts)
        if not self.wanted:
            self.end()

    def end(self, fault: Fault | None = None) -> None:
        if self.answered.done():
            return
        if fault is None:
            self.answered.set_result(None)
        else:
            self.answered.set_exception(fault)
            self.answered.exception()  # whoever waits may be gone already


class DrivenModule:
    """One module of one plant, as its dialect has it speak."""

    def __init__(
        self, plant_id: Id, placed: AttachedModule, speech: Speech, silent_after: float | None, *, gives_pictures: bool = False
    ) -> None:
        self.plant_id = plant_id
        self.id = placed.module.id
        self.kind = placed.module.kind
        self.name = placed.module.name
        self.speech = speech
        self.silent_after = silent_after
        self.state: State | None = placed.last.state if placed.reported_at else None
        self.pictures = Pictures() if gives_pictures else None
        if self.pictures is not None and isinstance(self.state, CameraState):
            self.pictures.turn(self.state.on, 0.0)
        self.heard_at: float | None = None
        self.listening_since: float | None = None
        """Since when its topics are subscribed to; None: they are not."""
        self.unanswered = False
        """Told or asked something, and not heard of since."""
        self.gone = False
        """Not driven any more."""
        self._known = bool(placed.reported_at)
        """Something was heard of it, now or in an earlier life."""
        self._facts = Facts()
        self._readings: dict[str, Reading] = {}
        self._kept_at: dict[str, float] = {}
        self._reported = _reported(placed)
        self._waits: list[Wait] = []
        self._way: Absence | None = None
        self._refused: Absence | None = None
        self._voices: dict[str, Absence | None] = {}
        self._quiet: Absence | None = None

    def attach_again(self, placed: AttachedModule) -> None:
        """The same module with the same options; what is known of it outside may be another thing by now."""
        self.name = placed.module.name
        self._reported = _reported(placed)

    # reachability

    @property
    def absence(self) -> Absence | None:
        """Why it cannot be reached, what is nearest to us first; None: it can be, as far as anybody knows."""
        voices = (voice for voice in self._voices.values() if voice is not None)
        return self._way or self._refused or next(voices, None) or self._quiet

    def lose_way(self, why: AbsenceReason, evidence: str, now: float) -> None:
        self.listening_since = None
        if self._way is None or self._way.why is not why:
            self._way = Absence(why, now, evidence)
        else:
            self._way = Absence(why, self._way.since, evidence)

    def find_way(self, now: float) -> None:
        """Its topics are subscribed to."""
        self._way = self._refused = None
        self.listening_since = now

    def refuse_topic(self, topic: str, words: str, now: float) -> None:
        self._refused = Absence(
            AbsenceReason.REFUSED, now, f"the broker does not let the gateway subscribe to {topic}: {words}"
        )

    def check_quiet(self, now: float, never_after: float) -> None:
        """Notice that nothing was ever heard of it, or nothing for too long."""
        if self._quiet is not None or self.listening_since is None:
            return
        if not self._known and now - self.listening_since >= never_after:
            self._quiet = Absence(
                AbsenceReason.NEVER_SEEN,
                self.listening_since,
                f"nothing was heard on {self._state_topic} since the gateway began to listen",
            )
        elif self.silent_after is not None:
            last = max(self.heard_at or 0.0, self.listening_since)
            if now - last >= self.silent_after:
                self._quiet = Absence(
                    AbsenceReason.SILENT, last, f"nothing on {self._state_topic} for {self.silent_after:g} seconds"
                )

    @property
    def _state_topic(self) -> str:
        return next(reversed([topic for topic, how in self.speech.topics.items() if how.qos == 0] or [*self.speech.topics]), "")

    # hearing

    def hear(self, topic: str, payload: bytes, now: float) -> None:
        """Raises Unreadable."""
        facts = self.speech.hear(topic, payload)
        if self.pictures is not None and "picture" in facts:
            self.pictures.hear(facts["picture"], now)
        if "available" in facts:
            self._hear_voice(topic, facts["available"], payload, now)
        if "refusal" in facts:
            for wait in self._waits:
                wait.end(DeviceRefused(f"the device refused: {facts['refusal']}"))
        if not facts or facts.keys() <= ABOUT_THE_WAY:
            if facts.get("available") and self.state is None:
                self._fold()  # a gateway is what its voice says, and no more
            return
        self.heard_at, self.unanswered = now, False
        self._known, self._quiet = True, None
        self._merge(facts, now)
        self._fold()
        if self.pictures is not None and isinstance(self.state, CameraState):
            self.pictures.turn(self.state.on, now)
        for wait in self._waits:
            wait.hear(facts)

    def _hear_voice(self, topic: str, available: bool, payload: bytes, now: float) -> None:
        if available:
            self._voices[topic] = None
            self._known = True
            if self._quiet is not None and self._quiet.why is AbsenceReason.NEVER_SEEN:
                self._quiet = None
        elif self._voices.get(topic) is None:
            self.heard_at = None  # once it is back, it may be in another state
            self._voices[topic] = Absence(AbsenceReason.SAID_SO, now, f"{topic}: {payload[:100].decode(errors='replace')}")

    def _merge(self, facts: Facts, now: float) -> None:
        sockets = {**self._facts.get("sockets", {}), **facts.get("sockets", {})}
        self._facts.update(facts)
        if sockets:
            self._facts["sockets"] = sockets
        for what in MEASURES:
            value: float | None = facts.get(what)  # type: ignore[assignment]  # measures are numbers
            before = self._readings.get(what)
            if value is not None and (before is None or before.value != value or now - before.at >= READING_EVERY):
                self._readings[what] = Reading(value, UNITS[what], now)

    def _fold(self) -> None:
        self.state = fold(self.kind, self._facts, self._readings) or self.state

    # whoever waits

    def expect(self, wanted: Facts) -> Wait:
        wait = Wait(wanted)
        self._waits.append(wait)
        return wait

    def forget(self, wait: Wait) -> None:
        self._waits.remove(wait)

    def end_waits(self, fault: Fault) -> None:
        for wait in self._waits:
            wait.end(type(fault)(fault.message))
        if self.pictures is not None:
            self.pictures.wake()

    # reporting

    @property
    def has_news(self) -> bool:
        absence = self.absence
        if self.gone or (absence is None and not self._known):
            return False  # nobody asks, or nobody knows yet
        return self._reported != (self.state, absence is None, None if absence is None else absence.why)

    def report(self, now: float) -> Report:
        """All that is to be said of it. It counts as reported now."""
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

    def unreport(self) -> None:
        """What was reported last did not arrive."""
        self._reported = (None, False, AbsenceReason.NEVER_SEEN)

    def _new_readings(self) -> Iterator[tuple[str, Reading]]:
        for what, reading in self._readings.items():
            kept_at = self._kept_at.get(what)
            if kept_at is None or reading.at - kept_at >= READING_EVERY:
                self._kept_at[what] = reading.at
                yield what, reading


class BrokenModule:
    """A module that cannot be driven as its options are."""

    def __init__(self, plant_id: Id, placed: AttachedModule, problem: str, now: float) -> None:
        self.plant_id = plant_id
        self.id = placed.module.id
        self.absence = Absence(AbsenceReason.MISCONFIGURED, now, problem)
        self.has_news = True

    def report(self, now: float) -> Report:
        self.has_news = False
        return Report(self.plant_id, self.id, now, reachable=False, absence=self.absence)

    def unreport(self) -> None:
        self.has_news = True
