"""Permits: the signed content of tickets and of picture tokens."""

from enum import StrEnum
from typing import Annotated

import msgspec

from domogate.domain.ids import DASHED_UUID, Id
from domogate.ports import Signer
from domogate.services.tickets.refusals import NotRedeemed, Reason

LEEWAY = 2.0
"""In seconds. The clock of the gateway that signed may be ahead by this time. The expiry has no tolerance."""

_NumericDate = Annotated[float, msgspec.Meta(ge=0, lt=2**53)]


class TicketAction(StrEnum):
    """The action that a ticket permits, in the words of the contract."""

    OPEN = "open"
    VIDEO_OUT = "videoOut"


class _Payload(msgspec.Struct, frozen=True):
    """The claims of a permit, with their types (Decision 0018)."""

    iss: str
    aud: str
    sub: str
    client_id: Annotated[str, msgspec.Meta(min_length=1, max_length=500)]
    grant: str
    plant: str
    module: str
    action: TicketAction
    jti: str
    iat: _NumericDate
    exp: _NumericDate


class Permit(msgspec.Struct, frozen=True):
    """One action on one module for one user, signed by this gateway. The rights may have changed since it was signed."""

    id: Id
    user_id: Id
    client_id: str
    grant_id: Id
    plant_id: Id
    module_id: Id
    action: TicketAction
    issued_at: float
    expires_at: float

    def check_time(self, now: float) -> None:
        """Raises NotRedeemed if the permit has expired or is not valid yet."""
        if self.expires_at <= now:
            raise NotRedeemed(Reason.EXPIRED, "the ticket or picture token has expired: get a new ticket")
        if self.issued_at > now + LEEWAY or self.expires_at <= self.issued_at:
            raise NotRedeemed(Reason.INVALID, "the ticket or picture token is not valid yet: check the gateway's clock")


class PicturePermission(msgspec.Struct, frozen=True):
    """A permission to get pictures of the camera that was switched on, until it expires or the camera is off."""

    token: str
    expires_at: float


async def sign_permit(signer: Signer, permit: Permit, *, typ: str, issuer: str, audience: str) -> str:
    claims = {
        "iss": issuer,
        "aud": audience,
        "sub": permit.user_id,
        "client_id": permit.client_id,
        "grant": permit.grant_id,
        "plant": permit.plant_id,
        "module": permit.module_id,
        "action": permit.action.value,
        "jti": permit.id,
        "iat": int(permit.issued_at),
        "exp": int(permit.expires_at),
    }
    return await signer.sign(claims, typ=typ)


async def read_permit(signer: Signer, signed: str, *, typ: str, issuer: str, audience: str) -> Permit:
    """Read and verify a permit. Raises NotRedeemed (INVALID) without details, because details would help an attacker."""
    claims = await signer.read(signed, typ=typ)
    try:
        payload = msgspec.convert(claims, _Payload)
    except (msgspec.ValidationError, RecursionError):
        raise _invalid() from None
    texts = (payload.jti, payload.sub, payload.grant, payload.plant, payload.module)
    ids = [parsed for text in texts if (parsed := DASHED_UUID.parse_id(text)) is not None]
    if (payload.iss, payload.aud) != (issuer, audience) or len(ids) < len(texts) or not payload.client_id.isprintable():
        raise _invalid()
    permit_id, user_id, grant_id, plant_id, module_id = ids
    return Permit(
        id=permit_id,
        user_id=user_id,
        client_id=payload.client_id,
        grant_id=grant_id,
        plant_id=plant_id,
        module_id=module_id,
        action=payload.action,
        issued_at=float(payload.iat),
        expires_at=float(payload.exp),
    )


def _invalid() -> NotRedeemed:
    return NotRedeemed(
        Reason.INVALID, "the ticket or picture token was not signed by this gateway for this purpose, or was changed"
    )
