from typing import Any

import jwt as pyjwt
import pytest

from domogate.domain.faults import TokenRefused
from domogate.domain.ids import Id, new_id
from domogate.services.tickets.issuing import Tickets
from domogate.services.tickets.permits import TicketAction
from support.identity import ISSUER, NOW, Identity, new_identity

PLANT, LOCK = new_id(), new_id()


async def mint(identity: Identity, action: TicketAction = TicketAction.OPEN, module_id: Id = LOCK) -> str:
    principal = await identity.verify(await identity.mint())
    return await Tickets(identity.signer, identity.clock, ISSUER, 60.0).mint_ticket(principal, PLANT, module_id, action)


async def verify_elsewhere(identity: Identity, ticket: str, **options: Any) -> dict[str, Any]:
    key = pyjwt.PyJWKSet.from_dict(await identity.signer.jwks())[pyjwt.get_unverified_header(ticket)["kid"]]
    unchecked: pyjwt.types.Options = {"verify_exp": False, "verify_iat": False}
    return pyjwt.decode(
        ticket, key, algorithms=["ES256"], issuer=ISSUER, **({"audience": f"{ISSUER}/tickets"} | options), options=unchecked
    )


class TestATicket:
    @pytest.mark.parametrize(("action", "word"), [(TicketAction.OPEN, "open"), (TicketAction.VIDEO_OUT, "videoOut")])
    async def test_permits_one_action_on_one_module_for_sixty_seconds(self, action: TicketAction, word: str) -> None:
        identity = await new_identity()
        claims = await verify_elsewhere(identity, await mint(identity, action))
        assert claims.pop("jti")
        assert claims == {
            "iss": ISSUER,
            "aud": f"{ISSUER}/tickets",
            "sub": identity.anna.id,
            "client_id": "demo-app",
            "grant": identity.grant.id,
            "plant": PLANT,
            "module": LOCK,
            "action": word,
            "iat": int(NOW),
            "exp": int(NOW) + 60,
        }

    async def test_says_by_its_header_what_it_is_and_who_signed_it(self) -> None:
        identity = await new_identity()
        header = pyjwt.get_unverified_header(await mint(identity))
        assert header == {"typ": "ticket+jwt", "alg": "ES256", "kid": identity.store.signing_keys[0].kid}

    async def test_is_never_the_same_twice(self) -> None:
        identity = await new_identity()
        first, second = [await verify_elsewhere(identity, await mint(identity)) for _ in range(2)]
        assert first["jti"] != second["jti"]

    async def test_does_not_pass_as_a_token(self) -> None:
        identity = await new_identity()
        with pytest.raises(TokenRefused, match=r"at\+jwt"):
            await identity.verify((await mint(identity)).encode())

    async def test_a_token_does_not_pass_as_a_ticket(self) -> None:
        identity = await new_identity()
        with pytest.raises(pyjwt.InvalidAudienceError):
            await verify_elsewhere(identity, (await identity.mint()).decode())
