"""Tickets for users of another issuer: how they are recognised, and when they expire."""

from domogate.domain.ids import Id, new_id
from domogate.domain.people import GrantType, Principal, Standing, TokenKind
from domogate.identity.external import ExternalClaims
from domogate.services.rights.grants import is_foreign_grant
from domogate.services.tickets.issuing import Tickets
from domogate.services.tickets.permits import TicketAction
from support.identity import ISSUER, NOW, new_identity

THEIRS = ExternalClaims(TokenKind.ID, "https://id.example", "42", "anna@example.com", "demo-app", frozenset(), NOW + 20)


async def end_of_ticket(grant_id: Id, token_ends_at: float) -> int:
    identity = await new_identity()
    principal = Principal(
        identity.anna.id,
        "demo-app",
        grant_id,
        TokenKind.ID,
        frozenset(),
        token_ends_at,
        GrantType.AUTHORIZATION_CODE,
        False,
        Standing.GOOD,
    )
    tickets = Tickets(identity.signer, identity.clock, ISSUER, 60.0)
    claims = await identity.signer.read(
        await tickets.mint_ticket(principal, new_id(), new_id(), TicketAction.OPEN), typ="ticket+jwt"
    )
    assert claims is not None
    return int(claims["exp"])


def test_the_id_that_stands_for_their_grant_is_told_from_ours() -> None:
    assert is_foreign_grant(THEIRS.grant_id)
    assert not any(is_foreign_grant(new_id()) for _ in range(100))


async def test_theirs_end_with_the_token_at_the_latest() -> None:
    assert await end_of_ticket(THEIRS.grant_id, NOW + 20) == int(NOW) + 20
    assert await end_of_ticket(THEIRS.grant_id, NOW + 3600) == int(NOW) + 60


async def test_ours_do_not_because_their_grant_is_asked_for() -> None:
    assert await end_of_ticket(new_id(), NOW + 20) == int(NOW) + 60
