"""The devices that a search with the simulator finds.

With these devices, people without hardware can try how found devices are placed into rooms.
"""

import uuid

from domogate.domain.devices import DeviceKind
from domogate.domain.discovery import Discovery, FoundModule
from domogate.domain.ids import Id

_NAMESPACE = uuid.UUID("7d5b3f0e-62a4-4a55-9a8f-5a3f0c1d9b21")
_DEVICES = {
    "kitchen_lamp": DeviceKind.LIGHT,
    "kitchen_plug": DeviceKind.PLUG,
    "living_room_lamp": DeviceKind.LIGHT,
    "living_room_shutter": DeviceKind.AUTOMATION,
    "bedroom_lamp": DeviceKind.LIGHT,
    "hall_door": DeviceKind.LOCK,
}


async def discover() -> Discovery:
    found = [
        FoundModule(Id(str(uuid.uuid5(_NAMESPACE, name))), name, kind, {}, "a simulated device")
        for name, kind in _DEVICES.items()
    ]
    return Discovery(found, [])
