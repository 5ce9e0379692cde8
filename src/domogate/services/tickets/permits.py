"""Permits: the signed content of tickets and of picture tokens."""

from enum import StrEnum
from typing import Annotated

import msgspec

from domogate.domain.ids import DASHED_UUID, Id
from domogate.ports import Signer
from domogate.services.tickets.refusals import NotRedeemed, Reason

LEEWAY = 2.0
"""In seconds.

The clock of the gateway that signed the permit may be ahead of our clock by this time. The check of the expiry has no
tolerance.
"""

_NumericDate = Annotated[float, msgspec.Meta(ge=0, lt=2**53)]


class TicketAction(StrEnum):
    """The action that a ticket permits, in the words of the contract."""

    OPEN = "open"
    VIDEO_OUT = "videoOut"


_CLAIMS = {
    "id": "jti",
    "user_id": "sub",
    "grant_id": "grant",
    "plant_id": "plant",
    "module_id": "module",
    "issued_at": "iat",
    "expires_at": "exp",
}
"""For each field of `Permit` whose claim has another name: the name of the claim (Decision 0018)."""


class Permit(msgspec.Struct, frozen=True, rename=_CLAIMS):
    """A signed permission: one action on one module for one user. The rights may have changed since it was signed."""

    id: Id
    user_id: Id
    client_id: Annotated[str, msgspec.Meta(min_length=1, max_length=500)]
    grant_id: Id
    plant_id: Id
    module_id: Id
    action: TicketAction
    issued_at: _NumericDate
    expires_at: _NumericDate

    @property
    def ids(self) -> tuple[Id, ...]:
        return self.id, self.user_id, self.grant_id, self.plant_id, self.module_id

    def check_time(self, now: float) -> None:
        """Raises NotRedeemed if the permit has expired or is not valid yet."""
        if self.expires_at <= now:
            raise NotRedeemed(Reason.EXPIRED, "the ticket or picture token has expired: get a new ticket")
        if self.issued_at > now + LEEWAY or self.expires_at <= self.issued_at:
            raise NotRedeemed(Reason.INVALID, "the ticket or picture token is not valid yet: check the gateway's clock")


class PicturePermission(msgspec.Struct, frozen=True):
    """A permission to get pictures of the camera that was switched on. It ends when it expires or when the camera is off."""

    token: str
    expires_at: float


async def sign_permit(signer: Signer, permit: Permit, *, typ: str, issuer: str, audience: str) -> str:
    whole_seconds = {"iat": int(permit.issued_at), "exp": int(permit.expires_at)}
    claims = {**msgspec.to_builtins(permit), "iss": issuer, "aud": audience, **whole_seconds}
    return await signer.sign(claims, typ=typ)


async def read_permit(signer: Signer, signed: str, *, typ: str, issuer: str, audience: str) -> Permit:
    """Read and verify a permit. Raises NotRedeemed (INVALID) if it is not valid.

    `Permit.check_time` checks the times. The error has no details. Details would help an attacker.
    """
    claims = await signer.read(signed, typ=typ) or {}
    try:
        permit = msgspec.convert(claims, Permit)
    except (msgspec.ValidationError, RecursionError):
        raise _invalid() from None
    is_for_us = (claims.get("iss"), claims.get("aud")) == (issuer, audience)
    if not is_for_us or not permit.client_id.isprintable() or any(DASHED_UUID.parse_id(id) != id for id in permit.ids):
        raise _invalid()
    return permit


def _invalid() -> NotRedeemed:
    return NotRedeemed(
        Reason.INVALID, "the ticket or picture token was not signed by this gateway for this purpose, or was changed"
    )
