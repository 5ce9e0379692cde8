"""What a signed permission says: form, signature, issuer and audience proven, and nothing else yet."""

from typing import Annotated

import msgspec

from domogate.domain.ids import DASHED_UUID, Id
from domogate.ports import Signer
from domogate.services.tickets.issuing import TicketAction
from domogate.services.tickets.refusals import NotRedeemed, Reason

LEEWAY = 2.0
"""By how many seconds the clock of the gateway that signed may be ahead, as for tokens. An end is never put off."""

_NumericDate = Annotated[float, msgspec.Meta(ge=0, lt=2**53)]


class _Payload(msgspec.Struct, frozen=True):
    """The claims of Decision 0018, by type."""

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
    """One action on one module for one user, as this gateway signed it; whether it still holds is another question."""

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
        """Raises NotRedeemed."""
        if self.expires_at <= now:
            raise NotRedeemed(Reason.EXPIRED, "it has expired: get a new ticket")
        if self.issued_at > now + LEEWAY or self.expires_at <= self.issued_at:
            raise NotRedeemed(
                Reason.INVALID, "it is not valid yet, or ends before it begins: is the clock of its gateway right?"
            )


async def read_permit(signer: Signer, signed: str, *, typ: str, issuer: str, audience: str) -> Permit:
    """Raises NotRedeemed (INVALID): which of the many reasons it was helps only whoever tries to forge one."""
    claims = await signer.read(signed, typ=typ)
    try:
        said = msgspec.convert(claims, _Payload)
    except (msgspec.ValidationError, RecursionError):
        raise _invalid() from None
    ids = [DASHED_UUID.parse_id(text) for text in (said.jti, said.sub, said.grant, said.plant, said.module)]
    known = [identity for identity in ids if identity is not None]
    if (said.iss, said.aud) != (issuer, audience) or len(known) < len(ids) or not said.client_id.isprintable():
        raise _invalid()
    permit_id, user_id, grant_id, plant_id, module_id = known
    return Permit(
        permit_id, user_id, said.client_id, grant_id, plant_id, module_id, said.action, float(said.iat), float(said.exp)
    )


def _invalid() -> NotRedeemed:
    return NotRedeemed(Reason.INVALID, "it is nothing that this gateway signed for this purpose, or was changed on the way")
