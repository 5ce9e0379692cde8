"""JSON models of the limits of guests, and of invitations with limits, for the surfaces that show and change them."""

from datetime import datetime
from typing import Annotated

from msgspec import Meta

from domogate.domain.limits import Limits
from domogate.http_api.requests import read_id, read_time
from domogate.wire import InputModel, OutputModel


class LimitsOut(OutputModel, frozen=True):
    """The ids of the floors, ambients and modules that a guest may use, and the period. If all three lists are empty, the
    guest may use all of the plant.
    """

    floors: tuple[str, ...]
    ambients: tuple[str, ...]
    modules: tuple[str, ...]
    valid_from: datetime | None
    valid_until: datetime | None


class InvitedPersonOut(OutputModel, frozen=True):
    """A person who is invited and has no active account yet."""

    email: str
    limits: LimitsOut | None


class InvitationLinkOut(OutputModel, frozen=True):
    """An invitation link that can still be used. `note` is the owner's text about the invited person."""

    id: str
    note: str
    limits: LimitsOut | None
    created_at: datetime
    expires_at: datetime


class NewLimits(InputModel, frozen=True):
    """New limits of a guest: the ids of the floors, ambients and modules that the guest may use, and the period.

    All fields are optional. If all three lists are empty, the guest may use all of the plant.
    """

    floors: tuple[str, ...] = ()
    ambients: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    valid_from: Annotated[datetime, Meta(tz=True)] | None = None
    valid_until: Annotated[datetime, Meta(tz=True)] | None = None


def read_limits(given: NewLimits | None) -> Limits | None:
    """Return the limits, or None for None. Raises Problem if an entry of a list is not an id, or if a time cannot be stored."""
    if given is None:
        return None
    return Limits(
        floors=tuple(read_id("body", "floors", text) for text in given.floors),
        ambients=tuple(read_id("body", "ambients", text) for text in given.ambients),
        modules=tuple(read_id("body", "modules", text) for text in given.modules),
        valid_from=read_time("validFrom", given.valid_from),
        valid_until=read_time("validUntil", given.valid_until),
    )
