"""What is sent to /tickets and what is answered."""

from datetime import datetime
from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from domogate.domain.states import State
from domogate.services.tickets import Redeemed
from domogate.services.tickets.issuing import TicketAction
from domogate.wire import Shown, moment
from domogate.wire.states import CameraState, LockState, show_state


class Shows(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is to be redeemed."""

    ticket: str


class ShownPicture(Shown, frozen=True):
    """Where the camera's pictures are, and by what bearer token; good until then or until the camera is off."""

    url: str
    token: str
    expires_at: datetime


class ShownRedemption(Shown, frozen=True):
    """What the ticket did. `state` is what the device confirmed that it is in; `picture` is there for cameras."""

    plant_id: str
    module_id: str
    action: TicketAction
    outcome: Literal["confirmed"]
    at: datetime
    state: LockState | CameraState | None
    picture: ShownPicture | UnsetType = UNSET


def show_redemption(redeemed: Redeemed, picture_url: str) -> ShownRedemption:
    permit, report, picture = redeemed.permit, redeemed.report, redeemed.picture
    return ShownRedemption(
        plant_id=permit.plant_id,
        module_id=permit.module_id,
        action=permit.action,
        outcome="confirmed",
        at=moment(report.at),
        state=_show_state(report.state),
        picture=UNSET if picture is None else ShownPicture(picture_url, picture.token, moment(picture.expires_at)),
    )


def _show_state(state: State | None) -> LockState | CameraState | None:
    shown = None if state is None else show_state(state)
    return shown if isinstance(shown, LockState | CameraState) else None
