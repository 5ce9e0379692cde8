"""The topics of a bridge. Except announcements, all of them begin with its base topic and the id of the plant."""

from domogate.domain.bridges import BRIDGE_NODE, BridgePlan
from domogate.domain.ids import DASHED_UUID, Id

_LONGEST = 400
"""The largest number of characters in a topic of a bridge."""
ONLINE, OFFLINE = b"online", b"offline"


class BridgeTopics:
    """Makes and recognises the topics of one bridge."""

    def __init__(self, plan: BridgePlan) -> None:
        self._root = f"{plan.base}/{plan.plant_id}"
        self._node = f"{BRIDGE_NODE}{plan.plant_id.replace('-', '')}"
        self._announced_under = plan.announced_under
        self.availability = f"{self._root}/bridge"
        self.marker = f"{self._root}/marker"
        """The bridge publishes a message to this topic after it has subscribed to the topics of `retained`.

        When the bridge receives this message, all retained messages have arrived.
        """
        self.commands = f"{self._root}/+/set"

    @property
    def retained(self) -> tuple[str, ...]:
        """The topic filters for the retained messages of the bridge, but not for its message "online" or "offline"."""
        announced = (f"{self._announced_under}/+/{self._node}/+/config",) if self._announced_under else ()
        return f"{self._root}/+/state", *announced

    def state(self, module_id: Id) -> str:
        return f"{self._root}/{module_id}/state"

    def set(self, module_id: Id) -> str:
        return f"{self._root}/{module_id}/set"

    def result(self, module_id: Id) -> str:
        return f"{self._root}/{module_id}/result"

    def announcement(self, component: str, object_id: str) -> str:
        return f"{self._announced_under}/{component}/{self._node}/{object_id}/config"

    def is_retained(self, topic: str) -> bool:
        """Whether the bridge publishes the state or the announcement of a module on this topic."""
        if len(topic) > _LONGEST:
            return False
        parts = topic.split("/")
        if topic.startswith(f"{self._root}/"):
            return parts[-1] == "state"
        return bool(self._announced_under) and topic.startswith(f"{self._announced_under}/") and parts[-3:-2] == [self._node]

    def find_commanded(self, topic: str) -> Id | None:
        """Return the module that gets commands on this topic, which ends with `/set`. Return None for any other topic."""
        if not (topic.startswith(f"{self._root}/") and topic.endswith("/set")):
            return None
        return DASHED_UUID.parse_id(topic[len(self._root) + 1 : -len("/set")])
