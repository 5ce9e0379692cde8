"""Issues tickets: signed, short-lived permissions to open a lock or switch on a camera (E11, E15; Spec 2.11)."""

from domogate.domain.ids import Id, new_id
from domogate.domain.people import Principal
from domogate.ports import Clock, Signer
from domogate.services.rights.grants import is_foreign_grant
from domogate.services.tickets.permits import Permit, TicketAction, sign_permit

TICKET_TYP = "ticket+jwt"


def ticket_audience(issuer: str) -> str:
    return f"{issuer}/tickets"


class Tickets:
    """Issues tickets for one action on one module.

    The header `typ` and the audience of a ticket differ from the header `typ` and the audience of a token. So a ticket is not
    accepted as a token. A token is not accepted as a ticket. A ticket names its grant and is refused if the grant was revoked.
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
            # Another issuer does not tell us if the grant was revoked. So the ticket is not valid for longer than the token.
            expires_at = min(expires_at, int(principal.expires_at))
        permit = Permit(
            id=new_id(),
            user_id=principal.user_id,
            client_id=principal.client_id,
            grant_id=principal.grant_id,
            plant_id=plant_id,
            module_id=module_id,
            action=action,
            issued_at=issued_at,
            expires_at=expires_at,
        )
        return await sign_permit(self._signer, permit, typ=TICKET_TYP, issuer=self._issuer, audience=self.audience)
