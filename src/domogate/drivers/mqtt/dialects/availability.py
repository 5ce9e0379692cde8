"""Options about the availability and the state of a device.

They say how the gateway learns that the device is online, and how it asks for the state.
"""

from collections.abc import Iterator, Sequence

import msgspec

from domogate.drivers.declaration import OptionProblem
from domogate.drivers.mqtt.dialects.options import find_problem_of_topic
from domogate.drivers.mqtt.payloads import Unreadable, as_text, read_text
from domogate.drivers.mqtt.properties import Properties, Publication
from domogate.drivers.mqtt.template import Scalar, Source


class Availability(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An option: the topic that says whether the module is online. If `path` is set, the value is in a JSON object."""

    topic: str
    path: str = ""
    """The place of the value in the JSON object. If empty, the value is the whole payload."""
    online: str = "online"
    offline: str = "offline"
    """`online` has the value that the device sends when it is online, `offline` the value when it is offline."""

    def find_problems(self) -> Iterator[OptionProblem]:
        yield from Source(topic=self.topic, path=self.path).find_problems()
        if self.online == self.offline:
            yield ("online",), "online and offline must differ"

    def read(self, payload: bytes, *, alone: bool) -> Properties:
        """Return the property `available`, which is whether the module is online.

        `alone` is true if the topic is used only for this property. Then a message that says neither online nor offline raises
        Unreadable. If `alone` is false, the result for such a message has no properties. A payload that cannot be decoded
        always raises Unreadable.
        """
        said = Source(topic=self.topic, path=self.path).read(payload) if self.path else read_text(payload)
        words = {self.online.lower(): True, self.offline.lower(): False}
        available = None if said is None else words.get(as_text(said).lower())
        if available is None:
            if alone:
                raise Unreadable(f"neither {self.online} nor {self.offline}")
            return Properties()
        return Properties(available=available)


class ReadRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An option: the message that makes the module report its state."""

    topic: str
    payload: str = ""

    def find_problems(self) -> Iterator[OptionProblem]:
        if problem := find_problem_of_topic(self.topic):
            yield ("topic",), problem

    def encode(self) -> Sequence[Publication]:
        return (Publication(self.topic, self.payload.encode()),)


def as_boolean(value: Scalar) -> bool | None:
    if isinstance(value, bool):
        return value
    return {"on": True, "true": True, "1": True, "off": False, "false": False, "0": False}.get(as_text(value).lower())
