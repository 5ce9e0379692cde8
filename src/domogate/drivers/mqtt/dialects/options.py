"""What all dialects' options have in common."""

from collections.abc import Iterator
from typing import Any

import msgspec

from domogate.domain.devices import DeviceKind
from domogate.drivers.mqtt.facts import Speech
from domogate.drivers.mqtt.packets import LONGEST_TOPIC

Path = tuple[str | int, ...]
Problem = tuple[Path, str]


class DialectOptions(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel", tag_field="dialect"
):
    """Base of all dialects' options."""

    broker: str | None = None
    """Its name; None: the only one there is."""
    silent_after: float | None = None
    """Seconds without a word after which the module counts as absent; None: whoever watches over it says so."""

    @property
    def gives_pictures(self) -> bool:
        """Whether they say where a camera's pictures are."""
        return False

    def find_problems(self, kind: DeviceKind) -> Iterator[Problem]:
        """What makes a module of this kind impossible to drive with these options."""
        raise NotImplementedError  # each dialect says it; a msgspec Struct cannot be an abstract class

    def speech_for(self, kind: DeviceKind) -> Speech:
        """Only after `find_problems` found none."""
        raise NotImplementedError  # as above

    def find_common_problems(self) -> Iterator[Problem]:
        if self.silent_after is not None and not 1 <= self.silent_after <= 10_000_000:
            yield ("silentAfter",), "a number of seconds from 1 on is expected"


def find_problem_of_topic(topic: str) -> str | None:
    """Why nothing can be published to it, or listened to by its name alone."""
    if not topic:
        return "a topic is expected"
    if any(sign in topic for sign in "+#\0"):
        return f"{topic!r} is no single topic: + and # stand for many"
    if len(topic.encode("utf-8", "surrogatepass")) > LONGEST_TOPIC:
        return "the topic is too long"
    try:
        topic.encode()
    except UnicodeEncodeError:
        return "the topic cannot be written in UTF-8"
    return None


def refuse_kind(kind: DeviceKind, dialect: str, kinds: frozenset[DeviceKind]) -> str:
    return f"{dialect} cannot drive a module of kind {kind}; it can drive {', '.join(sorted(kinds))}"


def to_json(value: Any) -> bytes:
    return msgspec.json.encode(value)
