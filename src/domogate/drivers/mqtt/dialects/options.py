"""The options that all dialects have, and functions that check options."""

from collections.abc import Iterator
from typing import Any

import msgspec

from domogate.domain.devices import DeviceKind
from domogate.drivers.declaration import OptionProblem
from domogate.drivers.mqtt.packets import LONGEST_TOPIC
from domogate.drivers.mqtt.properties import Codec


class DialectOptions(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel", tag_field="dialect"
):
    """Base of the options of all dialects."""

    broker: str | None = None
    """The name of the broker. It may be None if there is only one broker."""
    silent_after: float | None = None
    """In seconds. A module without a message for this time counts as absent. If None, only its availability topic counts."""

    @property
    def gives_pictures(self) -> bool:
        """Whether these options name the topic on which a camera publishes pictures."""
        return False

    def find_problems(self, kind: DeviceKind) -> Iterator[OptionProblem]:
        """The problems of these options for a module of this kind."""
        raise NotImplementedError  # a msgspec Struct cannot be an abstract class

    def codec_for(self, kind: DeviceKind) -> Codec:
        """Must only be called for options without problems."""
        raise NotImplementedError

    def find_common_problems(self) -> Iterator[OptionProblem]:
        if self.silent_after is not None and not 1 <= self.silent_after <= 10_000_000:
            yield ("silentAfter",), "a number of seconds from 1 on is expected"


def find_problem_of_topic(topic: str) -> str | None:
    """The reason why the text is not a single topic, or None."""
    if not topic:
        return "a topic is expected"
    if any(sign in topic for sign in "+#\0"):
        return f"{topic!r} is not a single topic: + and # are wildcards"
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
