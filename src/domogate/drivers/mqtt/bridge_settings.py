"""The settings of a bridge, which publishes a plant to a broker (docs/mqtt-bridge.md)."""

from collections.abc import Sequence

import msgspec

from domogate.domain.bridges import BridgePlan
from domogate.domain.ids import DASHED_UUID

_MOST = 100
_LONGEST_TOPIC = 100


class MqttBridge(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of one bridge. The constructor raises ValueError if a value is wrong or contradicts another value."""

    plant: str
    """The id of the plant whose modules are published."""
    user: str
    """The e-mail address of a user. The bridge publishes and commands only what this user may see and command."""
    broker: str = "main"
    """The name of a broker in the setting `mqtt_brokers`."""
    base: str = "domogate"
    """The first part of all topics, except the topics of announcements for Home Assistant."""
    commands: bool = False
    """Whether messages of other programs can command modules."""
    doors: bool = False
    """Whether messages of other programs can also open locks and use cameras."""
    home_assistant: str = "homeassistant"
    """The first part of the topics of announcements for Home Assistant. An empty text means no announcements."""
    active: bool = True
    """If false, the bridge removes its retained messages from the broker, and publishes nothing."""

    def __post_init__(self) -> None:
        if DASHED_UUID.parse_id(self.plant) is None:
            raise ValueError(f"the bridge's plant {self.plant!r} is not an id of a plant")
        if "@" not in self.user:
            raise ValueError(f"the bridge's user {self.user!r} is not an e-mail address")
        for name, topic in (("base", self.base), ("home_assistant", self.home_assistant)):
            if topic or name == "base":
                _check_topic(name, topic)
        if self.doors and not self.commands:
            raise ValueError("doors = true needs commands = true")

    @property
    def plan(self) -> BridgePlan:
        plant_id = DASHED_UUID.parse_id(self.plant)
        assert plant_id is not None, "the constructor checked it"
        return BridgePlan(
            plant_id=plant_id,
            email=self.user,
            base=self.base,
            commands=self.commands,
            doors=self.doors,
            announced_under=self.home_assistant,
            active=self.active,
        )


def _check_topic(name: str, topic: str) -> None:
    good = 1 <= len(topic) <= _LONGEST_TOPIC and topic.isprintable() and not set(topic) & set("+#$ ")
    if not good or "" in topic.split("/"):
        raise ValueError(
            f"the bridge's {name} {topic!r} cannot be used: 1 to {_LONGEST_TOPIC} characters without +, #, $ and spaces,"
            " and no / at the beginning or end"
        )


def check_bridges(bridges: Sequence[MqttBridge]) -> Sequence[MqttBridge]:
    """Return the bridges. Raises ValueError if there are too many, or if two of them have the same topics."""
    if len(bridges) > _MOST:
        raise ValueError(f"at most {_MOST} bridges can be given")
    topics = [(bridge.broker, bridge.base, bridge.plant.lower()) for bridge in bridges]
    if len(set(topics)) < len(topics):
        raise ValueError("two bridges have the same broker, base and plant; give one of them another base")
    announced = [(one.broker, one.home_assistant, one.plant.lower()) for one in bridges if one.home_assistant]
    if len(set(announced)) < len(announced):
        raise ValueError('two bridges announce the same plant at the same broker; give one of them home_assistant = ""')
    return bridges
