"""The dialect `emergency`: topics, paths and maps describe an emergency controller or unit (docs/mqtt.md has examples).

The dialect has no commands: a unit tests itself (EN 62034) and reports the result.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import msgspec

from domogate.common.times import parse_time
from domogate.domain.devices import DeviceKind
from domogate.domain.safety import EmergencyTest, EmergencyTestKind, FailureType
from domogate.drivers.declaration import OptionProblem, inside
from domogate.drivers.mqtt.dialects.availability import Availability, ReadRequest, as_boolean
from domogate.drivers.mqtt.dialects.options import DialectOptions
from domogate.drivers.mqtt.emergency import KINDS, OK_OF, types_of
from domogate.drivers.mqtt.payloads import as_number, as_text, within
from domogate.drivers.mqtt.properties import Codec, Properties, Publication, QueuePolicy, Subscription, Unsupported
from domogate.drivers.mqtt.template import Source

PASSED = "passed"
_NO_TEST = "none"
_MOST_BITS = 32
_MOST_WORDS = 64
_LONGEST_TEST = 7 * 86_400.0
_is_hexadecimal = re.compile(r"0[xX][0-9a-fA-F]{1,8}").fullmatch
_LATEST = 1e11
"""The latest time of a test, in seconds since the epoch. A larger number is read as milliseconds."""


class FailureSource(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An option for a device that sends all its failures in one value. The option says where this value is read.

    The value is a word, a list of words, or a number whose bits are failures.
    """

    topic: str
    path: str = ""
    map: dict[str, str] = {}
    """The failure type of each word that the device sends. Without a map, the device must send the failure types as words."""
    bits: dict[str, str] = {}
    """The failure type of each bit. Bit 0 is the lowest."""

    def find_problems(self, kind: DeviceKind) -> Iterator[OptionProblem]:
        yield from Source(topic=self.topic, path=self.path).find_problems()
        if self.map and self.bits:
            yield ("bits",), "give either map or bits"
        for word, failure in self.map.items():
            yield from _find_problem_of_type(kind, failure, ("map", word))
        for bit, failure in self.bits.items():
            if not bit.isdecimal() or int(bit) >= _MOST_BITS:
                yield ("bits", bit), f"bits are numbered 0 to {_MOST_BITS - 1}"
            yield from _find_problem_of_type(kind, failure, ("bits", bit))

    def read(self, payload: bytes, kind: DeviceKind) -> dict[FailureType, bool] | None:
        """Return for each failure type whether the failure is present. If `bits` is set, use only the types in `bits`.

        Return None if the payload has no value that can be read as failures.
        Raises Unreadable if the payload cannot be decoded.
        """
        found = Source(topic=self.topic, path=self.path).find(payload)
        types = types_of(kind)
        if self.bits:
            number = _to_bits(found)
            if number is None:
                return None
            return {FailureType(name): bool(number >> int(bit) & 1) for bit, name in self.bits.items()}
        items = found if isinstance(found, list) else [found]
        if found is None or len(items) > _MOST_WORDS:
            return None
        words = {as_text(item) for item in items}
        table: Mapping[str, str] = self.map or {one: one for one in types}
        present = {FailureType(table[word]) for word in words & table.keys()}
        # A word that is not in the map may be a failure, so the device must not be shown as working.
        if not words <= table.keys():
            present.add(_OTHER[kind])
        return {one: one in present for one in types if one is not OK_OF[kind]}


_OTHER = {
    DeviceKind.EMERGENCY_UNIT: FailureType.BLOCK_OTHER_FAULTY,
    DeviceKind.EMERGENCY_CONTROLLER: FailureType.REMOTE_ELECTRONIC_FAULT,
}
"""For each device kind: the failure that is reported if the device sends a word that the options do not know."""


class TestSource(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """An option that describes messages with test results. `result`, `ended`, `began` and `lit` are paths in their JSON."""

    __test__ = False  # pytest would collect it

    topic: str
    result: str
    map: dict[str, str]
    """The meaning of each result: `passed`, or the failure that the test found. Other results are ignored."""
    ended: str
    """The path of the time at which the test ended. The time is in ISO 8601, or in seconds or milliseconds since the epoch."""
    began: str = ""
    """The path of the time at which the test began. The time may have the same forms as the time at `ended`.

    Without this option, the time is computed from `ended` and `lit`.

    This time identifies the test. A test that began at the same time as the previous test gets no new entry in the logbook.
    """
    lit: str = ""
    """The path of the duration for which the lamp was lit. Without this option, it is computed from `began` and `ended`."""
    lit_scale: float = 1.0
    """The factor that converts the value of `lit` to seconds."""

    def find_problems(self, kind: DeviceKind) -> Iterator[OptionProblem]:
        for name in ("result", "ended", "began", "lit"):
            path: str = getattr(self, name)
            for at, words in Source(topic=self.topic, path=path).find_problems():
                yield at if at == ("topic",) else (name,), words
        if not self.result or not self.ended:
            yield ("result" if not self.result else "ended",), "a path is expected: a test needs its result and its time"
        if not self.began and not self.lit:
            yield ("lit",), "give lit or began: the length of the test is part of its record"
        if not 0 < self.lit_scale <= 86_400:
            yield ("litScale",), "a number greater than 0 is expected"
        if PASSED not in self.map.values():
            yield ("map",), f"no result means {PASSED!r}"
        for word, meaning in self.map.items():
            if meaning != PASSED:
                yield from _find_problem_of_type(kind, meaning, ("map", word))

    def read(self, payload: bytes, kind: EmergencyTestKind) -> EmergencyTest | None:
        """Return the test. Raises Unreadable if the payload cannot be decoded.

        Return None if the result is not in `map`. Return None if a time of the test is missing and cannot be computed. Also
        return None if the test ended before it began, or more than seven days later.
        """
        word = self._find(payload, self.result)
        meaning = None if word is None or isinstance(word, dict | list) else self.map.get(as_text(word))
        ended = _to_time(self._find(payload, self.ended))
        if meaning is None or ended is None:
            return None
        seconds = as_number(self._find(payload, self.lit)) if self.lit else None
        lit = None if seconds is None else within(seconds * self.lit_scale, 0, _LONGEST_TEST)
        began = _to_time(self._find(payload, self.began)) if self.began else None
        if began is None:
            began = None if lit is None else ended - lit
        if began is None or not 0 <= ended - began <= _LONGEST_TEST:
            return None
        failure = None if meaning == PASSED else FailureType(meaning)
        return EmergencyTest(kind, began, ended, ended - began if lit is None else lit, failure)

    def _find(self, payload: bytes, path: str) -> Any:
        return Source(topic=self.topic, path=path).find(payload)


class EmergencyOptions(DialectOptions, tag="emergency", frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The options of the dialect `emergency`: where the failures, the charge and the tests of a controller or unit are read."""

    kinds: ClassVar[frozenset[DeviceKind]] = KINDS
    failures: FailureSource | None = None
    failing: dict[str, Source] = {}
    """For each failure type, the source of a value that says whether the device has this failure."""
    charge: Source | None = None
    testing: Source | None = None
    """The source of a word that says which test is running: function, duration or none."""
    function_test: TestSource | None = None
    duration_test: TestSource | None = None
    availability: Availability | None = None
    ask: ReadRequest | None = None

    def find_problems(self, kind: DeviceKind) -> Iterator[OptionProblem]:
        if self.failures is None and not self.failing:
            yield ("failures",), f"a {kind} needs failures or failing, because its state is made from them"
        if self.failures is not None:
            yield from inside(self.failures.find_problems(kind), "failures")
        for name, source in self.failing.items():
            yield from _find_problem_of_type(kind, name, ("failing", name), ok=False)
            yield from inside(source.find_problems(), "failing", name)
        for name, one in (("charge", self.charge), ("testing", self.testing)):
            if one is not None:
                yield from inside(one.find_problems(), name)
        for name, test in (("functionTest", self.function_test), ("durationTest", self.duration_test)):
            if test is not None:
                yield from inside(test.find_problems(kind), name)
        if kind is DeviceKind.EMERGENCY_CONTROLLER and (self.function_test or self.duration_test or self.charge):
            yield (), "a controller has no battery and no tests: give them to its units"
        if self.availability is not None:
            yield from inside(self.availability.find_problems(), "availability")
        if self.ask is not None:
            yield from inside(self.ask.find_problems(), "ask")

    def codec_for(self, kind: DeviceKind) -> Codec:
        return Emergency(self, kind)


class Emergency(Codec):
    """Decodes the messages of an emergency controller or unit, as its options describe."""

    settable = frozenset()

    def __init__(self, options: EmergencyOptions, kind: DeviceKind) -> None:
        self._options = options
        self._kind = kind
        self._tests = {
            test.topic: [(kind, one) for kind, one in _tests_of(options) if one.topic == test.topic]
            for _, test in _tests_of(options)
        }
        sources = [*options.failing.values(), *(one for one in (options.charge, options.testing) if one is not None)]
        topics = {source.topic for source in sources} | self._tests.keys()
        if options.failures is not None:
            topics.add(options.failures.topic)
        self._own_topics = frozenset(topics)
        if options.availability is not None:
            topics.add(options.availability.topic)
        # Messages on these topics are rare, so the broker sends a lost message again.
        self.topics = {topic: Subscription(QueuePolicy.ALL, qos=1) for topic in sorted(topics)}

    def decode(self, topic: str, payload: bytes) -> Properties:
        properties = Properties()
        if not payload:
            return properties  # a retained message was deleted
        options = self._options
        failures: dict[FailureType, bool] = {}
        if options.failures is not None and options.failures.topic == topic:
            failures |= options.failures.read(payload, self._kind) or {}
        for name, source in options.failing.items():
            value = source.read(payload) if source.topic == topic else None
            if value is not None and (present := as_boolean(value)) is not None:
                failures[FailureType(name)] = present
        if failures:
            properties["failures"] = failures
        self._read_unit(topic, payload, properties)
        for kind, test in self._tests.get(topic, ()):
            if (result := test.read(payload, kind)) is not None:
                properties["function_test" if kind is EmergencyTestKind.FUNCTION else "duration_test"] = result
        if options.availability is not None and topic == options.availability.topic:
            properties.update(options.availability.read(payload, alone=topic not in self._own_topics))
        return properties

    def _read_unit(self, topic: str, payload: bytes, properties: Properties) -> None:
        charge, testing = self._options.charge, self._options.testing
        if charge is not None and charge.topic == topic and (percent := within(charge.read(payload), 0, 100)) is not None:
            properties["charge"] = round(percent)
        if testing is not None and testing.topic == topic:
            word = testing.read(payload)
            if word in frozenset(EmergencyTestKind):
                properties["testing"] = EmergencyTestKind(str(word))
            elif word == _NO_TEST or word is False:
                properties["testing"] = None

    def encode(self, _wanted: Properties) -> Sequence[Publication]:
        raise Unsupported("emergency lighting takes no commands")

    def encode_read(self) -> Sequence[Publication]:
        return () if self._options.ask is None else self._options.ask.encode()


def _tests_of(options: EmergencyOptions) -> list[tuple[EmergencyTestKind, TestSource]]:
    both = ((EmergencyTestKind.FUNCTION, options.function_test), (EmergencyTestKind.DURATION, options.duration_test))
    return [(kind, test) for kind, test in both if test is not None]


def _find_problem_of_type(kind: DeviceKind, name: str, path: tuple[str, ...], *, ok: bool = True) -> Iterator[OptionProblem]:
    allowed = [str(one) for one in types_of(kind) if ok or one is not OK_OF[kind]]
    if name not in allowed:
        yield path, f"{name!r} is not a failure type of a {kind}; there are {', '.join(allowed)}"


def _to_bits(value: object) -> int | None:
    """Return the number, or the number in hexadecimal text such as 0x24. Return None for any other value."""
    if isinstance(value, str) and _is_hexadecimal(value):
        return int(value, 16)
    number = within(value, 0, 2**_MOST_BITS - 1)
    return int(number) if number is not None and number.is_integer() else None


def _to_time(value: object) -> float | None:
    number = as_number(value)
    if number is None and isinstance(value, str):
        try:
            number = parse_time(value)
        except ValueError:
            return None
    if number is not None and number > _LATEST:
        number /= 1000
    return number if number is not None and 0 <= number <= _LATEST else None
