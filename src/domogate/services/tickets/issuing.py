"""Tickets: signed short permissions that an SDK takes to a door (E11, E15; Spec 2.11)."""

import uuid
from enum import StrEnum

from domogate.domain.ids import Id
from domogate.domain.people import Principal
from domogate.ports import Clock, Signer
from domogate.services.rights.grants import is_foreign_grant

TICKET_TYP = "ticket+jwt"


def ticket_audience(issuer: str) -> str:
    return f"{issuer}/tickets"


class TicketAction(StrEnum):
    """What a ticket lets its holder do, in the contract's own words."""

    OPEN = "open"
    VIDEO_OUT = "videoOut"


class Tickets:
    """Mints tickets for one action on one module.

    Their header typ and their audience, `{issuer}/tickets`, are those of no token, so that neither passes as the other.
    They name the grant, so that whoever redeems one can refuse it once its user has withdrawn it.
    """

    def __init__(self, signer: Signer, clock: Clock, issuer: str, lifetime: float) -> None:
        self._signer = signer
        self._clock = clock
        self._issuer = issuer
        self._lifetime = lifetime

    @property
    def audience(self) -> str:
        return ticket_audience(self._issuer)

    async def mint_ticket(self, principal: Principal, plant_id: Id, module_id: Id, action: TicketAction) -> str:
        issued_at = int(self._clock.now())
        expires_at = issued_at + int(self._lifetime)
        if is_foreign_grant(principal.grant_id):
            # That its user withdrew it elsewhere is not heard here; the token's end is.
            expires_at = min(expires_at, int(principal.expires_at))
        claims = {
            "iss": self._issuer,
            "aud": self.audience,
            "sub": principal.user_id,
            "client_id": principal.client_id,
            "grant": principal.grant_id,
            "plant": plant_id,
            "module": module_id,
            "action": action.value,
            "jti": str(uuid.uuid4()),
            "iat": issued_at,
            "exp": expires_at,
        }
        return await self._signer.sign(claims, typ=TICKET_TYP)
