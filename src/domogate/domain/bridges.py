"""Bridges: they publish the modules of a plant to an MQTT broker, with the rights of one user."""

import msgspec

from domogate.domain.ids import Id

BRIDGE_NODE = "domogate_"
"""The topic of an announcement for Home Assistant has a part with the name "node id". In the announcements of a bridge, the
node id begins with this text. So a search for new devices can skip the modules that a bridge announced.
"""


class BridgePlan(msgspec.Struct, frozen=True, kw_only=True):
    """The plant that a bridge publishes, and the user whose rights the bridge has."""

    plant_id: Id
    email: str
    """The e-mail address of a user. The bridge publishes and commands only what this user may see and command."""
    base: str
    """The topics of the bridge, except those of announcements, begin with this text and the id of the plant."""
    commands: bool = False
    """Whether MQTT messages can command modules. Otherwise the bridge only publishes states."""
    doors: bool = False
    """Whether MQTT messages can also open locks, activate relays and use cameras."""
    announced_under: str = ""
    """The first part of the topics of announcements for Home Assistant. Empty means no announcements."""
    active: bool = True
    """If false, the bridge only removes its retained messages from the broker."""
