"""Cameras of door entry systems. A camera that is on switches off by itself after some time."""

from collections.abc import Iterator

from homeassistant.components.camera import Camera, CameraEntityFeature
from homeassistant.config_entries import ConfigEntry
from homeassistant.core import HomeAssistant
from homeassistant.helpers.entity_platform import AddEntitiesCallback

from domogate_client import AsyncClient
from domogate_client.errors import DomogateError
from domogate_client.models.commands import SwitchCamera
from domogate_client.models.home import Module
from domogate_client.models.states import CameraState

from .const import LOGGER
from .coordinator import DomogateCoordinator
from .entity import DomogateEntity, add_entities


async def async_setup_entry(hass: HomeAssistant, entry: ConfigEntry, async_add_entities: AddEntitiesCallback) -> None:
    """Add the cameras."""
    add_entities(hass, entry, async_add_entities, _make)


def _make(coordinator: DomogateCoordinator, module: Module) -> Iterator[Camera]:
    if module.kind == "audiovideo unit":
        yield DomogateCamera(coordinator, module.id)


class DomogateCamera(DomogateEntity[CameraState], Camera):
    """A camera with single pictures."""

    _attr_supported_features = CameraEntityFeature.ON_OFF

    def __init__(self, coordinator: DomogateCoordinator, module_id: str) -> None:
        super().__init__(coordinator, module_id)
        Camera.__init__(self)

    @property
    def is_on(self) -> bool:
        return self.available and self.state_of_module.on

    async def async_turn_on(self) -> None:
        """Switch the camera on."""
        await self.send(SwitchCamera(on=True))

    async def async_turn_off(self) -> None:
        """Switch the camera off."""
        await self.send(SwitchCamera(on=False))

    async def async_camera_image(self, **_size: int | None) -> bytes | None:
        """Return the present picture. The gateway has one size."""
        try:
            client: AsyncClient = self.coordinator.client
            picture = await client.home.get_picture(self.place.home.id, self.module.id)
        except DomogateError as error:
            LOGGER.warning("%s has no picture: %s", self.module.name, error)
            return None
        self.content_type = picture.media_type
        return picture.data
