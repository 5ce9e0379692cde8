"""The options that all dialects have, and functions that check options."""

from collections.abc import Iterator
from typing import ClassVar

import msgspec

from domogate.domain.devices import DeviceKind
from domogate.drivers.declaration import OptionProblem
from domogate.drivers.mqtt.packets import LONGEST_TOPIC


class DialectOptions(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel", tag_field="dialect"
):
    """Base of the options of all dialects.

    The options of a dialect also have the methods `find_problems` and `codec_for`. The argument of both methods is the kind of
    the module. Call `codec_for` only if `find_problems` finds no problem.
    """

    kinds: ClassVar[frozenset[DeviceKind]]
    """The kinds of modules that the dialect can drive."""
    broker: str | None = None
    """The name of the broker. It may be None if there is only one broker."""
    silent_after: float | None = None
    """In seconds.

    A module that sends no message for this time counts as absent. A module that has never reported counts as absent after 30
    seconds without a message (`NEVER_SEEN_AFTER`), even if this option is None.
    """

    @property
    def gives_pictures(self) -> bool:
        """Whether these options name the topic on which a camera publishes pictures."""
        return False

    def find_common_problems(self, kind: DeviceKind) -> Iterator[OptionProblem]:
        if self.silent_after is not None and not 1 <= self.silent_after <= 10_000_000:
            yield ("silentAfter",), "a number of seconds from 1 on is expected"
        if kind not in self.kinds:
            dialect, kinds = self.__struct_config__.tag, ", ".join(sorted(self.kinds))
            yield (), f"{dialect} cannot drive a module of kind {kind}; it can drive {kinds}"


def find_problem_of_topic(topic: str) -> str | None:
    """Return the reason why the text is not a single topic (without wildcards), or None if it is one."""
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
