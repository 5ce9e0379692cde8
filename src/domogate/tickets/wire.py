"""JSON models of /tickets."""

from datetime import datetime
from typing import Literal

from msgspec import UNSET, UnsetType

from domogate.domain.states import State
from domogate.services.tickets import Redeemed
from domogate.services.tickets.permits import TicketAction
from domogate.wire import InputModel, OutputModel
from domogate.wire.states import CameraStateOut, LockStateOut, state_out


class RedemptionRequest(InputModel, frozen=True):
    ticket: str


class PictureOut(OutputModel, frozen=True):
    """The URL of the camera's pictures and the bearer token for it.

    Both are valid until `expiresAt`, or until the camera is off.
    """

    url: str
    token: str
    expires_at: datetime


class RedemptionOut(OutputModel, frozen=True):
    """The effect of the ticket. `state` is the state that the device confirmed; only cameras have `picture`."""

    plant_id: str
    module_id: str
    action: TicketAction
    outcome: Literal["confirmed"]
    at: datetime
    state: LockStateOut | CameraStateOut | None
    picture: PictureOut | UnsetType = UNSET


def redemption_out(redeemed: Redeemed, picture_url: str) -> RedemptionOut:
    report, picture = redeemed.report, redeemed.picture
    return RedemptionOut.of(
        redeemed.permit,
        outcome="confirmed",
        at=report.at,
        state=_state_out(report.state),
        picture=UNSET if picture is None else PictureOut.of(picture, url=picture_url),
    )


def _state_out(state: State | None) -> LockStateOut | CameraStateOut | None:
    shown = None if state is None else state_out(state)
    return shown if isinstance(shown, LockStateOut | CameraStateOut) else None
