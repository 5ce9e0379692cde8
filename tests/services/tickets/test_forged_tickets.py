"""Only a ticket of this gateway is accepted."""

import asyncio
import base64
import hashlib
import hmac
import json
from pathlib import Path
from typing import Any

import jwt as pyjwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given, settings
from hypothesis import strategies as st

from domogate.domain.ids import new_id
from domogate.domain.people import Grant, Scope, TokenKind
from domogate.domain.states import LockState
from domogate.identity.rotation import rotate_keys
from domogate.services.tickets.issuing import TICKET_TYP
from domogate.services.tickets.permits import TicketAction
from domogate.services.tickets.redemption import PICTURE_TYP
from domogate.services.tickets.refusal_limiter import SPAN
from support.examples import examples
from support.ticket_setup import (
    APP,
    DOOR,
    GATE,
    HOUSE,
    ISSUER,
    OWNER,
    PANEL,
    STRANGER,
    TicketSetup,
    open_ticket_setup,
    problem_type,
)

pytestmark = pytest.mark.slow


def encode(part: object) -> str:
    return base64.urlsafe_b64encode(part if isinstance(part, bytes) else json.dumps(part).encode()).rstrip(b"=").decode()


def tampered(signed: str, **claims: Any) -> str:
    """Other claims under the old signature."""
    head, _, signature = signed.split(".")
    said = pyjwt.decode(signed, options={"verify_signature": False})
    return f"{head}.{encode({**said, **claims})}.{signature}"


async def expect_invalid(setup: TicketSetup, shown: str) -> None:
    answer = await setup.redeem(shown)
    assert problem_type(answer, 401) == "invalid"
    assert answer.headers["www-authenticate"] == 'Ticket realm="domogate", error="invalid"'
    assert [await setup.state_of(lock) for lock in (GATE, DOOR)] == [LockState(locked=True)] * 2


class TestATicketThatWasChanged:
    async def test_is_refused_whatever_was_changed(self, setup: TicketSetup) -> None:
        ticket = await setup.mint()
        for claims in (
            {"module": DOOR.id},
            {"sub": STRANGER.id},
            {"exp": 2_000_000_000},
            {"jti": new_id()},
            {"action": "videoOut", "module": PANEL.id},
            {},  # the same, printed with other spaces
        ):
            await expect_invalid(setup, tampered(ticket, **claims))

    async def test_in_one_bit_of_its_signature_is_refused(self, setup: TicketSetup) -> None:
        head, body, signature = (await setup.mint()).split(".")
        first = "B" if signature[0] == "A" else "A"
        await expect_invalid(setup, f"{head}.{body}.{first}{signature[1:]}")

    async def test_in_its_header_is_refused(self, setup: TicketSetup) -> None:
        ticket = await setup.mint()
        _, body, signature = ticket.split(".")
        for change in ({"alg": "none"}, {"alg": "ES256", "x": 1}, {"kid": "another"}, {"crit": ["exp"]}):
            await expect_invalid(setup, f"{encode({**pyjwt.get_unverified_header(ticket), **change})}.{body}.{signature}")


class TestAnAlgorithm:
    async def test_none_is_refused_in_any_spelling(self, setup: TicketSetup) -> None:
        ticket = await setup.mint()
        _, body, signature = ticket.split(".")
        for word in ("none", "None", "NONE", ""):
            head = encode({**pyjwt.get_unverified_header(ticket), "alg": word})
            await expect_invalid(setup, f"{head}.{body}.")
            await expect_invalid(setup, f"{head}.{body}.{signature}")

    async def test_keyed_with_the_public_key_is_refused(self, setup: TicketSetup) -> None:
        """RFC 8725 §2.1. PyJWT refuses to do this, so it is done by hand."""
        ticket = await setup.mint()
        stored = (await setup.store.list_signing_keys())[0]
        public = json.loads(stored.jwk)
        public.pop("d")
        pem = pyjwt.PyJWK(public, algorithm="ES256").key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        head = {**pyjwt.get_unverified_header(ticket), "alg": "HS256"}
        signed = f"{encode(head)}.{ticket.split('.')[1]}"
        for secret in (pem, json.dumps(public).encode()):
            await expect_invalid(setup, f"{signed}.{encode(hmac.digest(secret, signed.encode(), hashlib.sha256))}")

    async def test_of_another_key_under_our_kid_is_refused(self, setup: TicketSetup) -> None:
        theirs = ec.generate_private_key(ec.SECP256R1())
        await expect_invalid(setup, await setup.forge(await setup.mint(), key=theirs))

    async def test_a_key_brought_along_is_not_believed(self, setup: TicketSetup) -> None:
        theirs = ec.generate_private_key(ec.SECP256R1())
        jwk = json.loads(pyjwt.algorithms.ECAlgorithm.to_jwk(theirs.public_key()))
        for header in ({"jwk": jwk}, {"jku": "https://evil.example/jwks"}, {"kid": None, "jwk": jwk}):
            await expect_invalid(setup, await setup.forge(await setup.mint(), header=header, key=theirs))


class TestSomethingElseThatWeSigned:
    @pytest.mark.parametrize("kind", list(TokenKind))
    async def test_a_token_is_no_ticket(self, setup: TicketSetup, kind: TokenKind) -> None:
        grant = Grant(new_id(), OWNER.id, APP.id, (Scope.AUDIOVIDEO_READ,))
        await setup.store.add_grant(grant)
        await expect_invalid(setup, await setup.signer.mint_token(kind, OWNER, APP, grant))

    async def test_a_permission_for_pictures_is_no_ticket_and_a_ticket_none_for_pictures(self, setup: TicketSetup) -> None:
        token = await setup.switch_on()
        await expect_invalid(setup, token)
        assert problem_type(await setup.look(await setup.mint(TicketAction.VIDEO_OUT)), 401) == "invalid"

    async def test_its_claims_under_a_tickets_typ_are_refused_for_their_audience(self, setup: TicketSetup) -> None:
        token = await setup.switch_on()
        await expect_invalid(setup, await setup.forge(token, header={"typ": TICKET_TYP}))
        ticket = await setup.mint(TicketAction.VIDEO_OUT)
        assert problem_type(await setup.look(await setup.forge(ticket, header={"typ": PICTURE_TYP})), 401) == "invalid"

    async def test_with_one_claim_that_is_wrong_is_refused(self, setup: TicketSetup) -> None:
        ticket = await setup.mint()
        wrong: tuple[dict[str, Any], ...] = (
            {"iss": f"{ISSUER}/"},
            {"iss": "https://other.example/auth"},
            {"aud": ISSUER},
            {"aud": [f"{ISSUER}/tickets"]},
            {"action": "OPEN"},
            {"action": "detonate"},
            {"jti": None},
            {"jti": "1"},
            {"jti": "\0" * 36},
            {"sub": OWNER.id.replace("-", "")},
            {"exp": "2000000000"},
            {"exp": True},
            {"exp": 1e300},
            {"exp": None},
            {"iat": None},
            {"iat": -1},
            {"iat": 1_900_000_000, "exp": 1_900_000_060},
            {"grant": None},
            {"client_id": "a\0b"},
            {"client_id": ""},
            {"plant": 7},
        )
        for claims in wrong:
            await expect_invalid(setup, await setup.forge(ticket, claims))

    async def test_a_good_one_signed_again_by_another_implementation_is_accepted(self, setup: TicketSetup) -> None:
        """Otherwise the refusals above would prove nothing."""
        assert (await setup.redeem(await setup.forge(await setup.mint(), {"module": DOOR.id}))).status_code == 200

    async def test_a_lock_is_not_filmed_and_a_camera_not_opened(self, setup: TicketSetup) -> None:
        for action, module in ((TicketAction.OPEN, PANEL), (TicketAction.VIDEO_OUT, GATE)):
            assert problem_type(await setup.redeem(await setup.mint(action, module)), 404) == "no-such-device"


class TestAnotherGateway:
    async def test_its_tickets_are_refused_although_all_their_claims_are_ours(self, setup: TicketSetup, tmp_path: Path) -> None:
        other = tmp_path / "other"
        other.mkdir()
        async with open_ticket_setup(other) as elsewhere:
            await expect_invalid(setup, await elsewhere.mint(who=await setup.grant_access()))


class TestRotation:
    async def test_a_ticket_of_a_retired_key_is_good_while_it_lives(self, setup: TicketSetup) -> None:
        await rotate_keys(setup.store, setup.clock, ahead=300.0)
        setup.clock.at += 290.0
        ticket = await setup.mint()
        setup.clock.at += 20.0
        assert pyjwt.get_unverified_header(await setup.mint())["kid"] != pyjwt.get_unverified_header(ticket)["kid"]
        assert (await setup.redeem(ticket)).status_code == 200

    async def test_in_an_emergency_none_that_was_made_before_is_good(self, setup: TicketSetup) -> None:
        ticket, token = await setup.mint(), await setup.switch_on()
        await rotate_keys(setup.store, setup.clock, now=True)
        await expect_invalid(setup, ticket)
        assert problem_type(await setup.look(token), 401) == "invalid"
        assert (await setup.redeem(await setup.mint())).status_code == 200


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
_NAMES = ("iss", "aud", "sub", "client_id", "grant", "plant", "module", "action", "jti", "iat", "exp")
_ours = {
    "iss": st.just(ISSUER),
    "aud": st.just(f"{ISSUER}/tickets"),
    "sub": st.sampled_from([OWNER.id, STRANGER.id]),
    "client_id": st.just(APP.id),
    "plant": st.sampled_from([HOUSE.id, GATE.id]),
    "module": st.sampled_from([GATE.id, PANEL.id, HOUSE.id]),
    "action": st.sampled_from(["open", "videoOut"]),
    "jti": st.uuids().map(str),
    "grant": st.uuids().map(str),
    "iat": st.integers(1_799_999_000, 1_800_003_000),
    "exp": st.integers(1_799_999_000, 1_800_003_000),
}
claim_sets = st.fixed_dictionaries({}, optional={name: _ours[name] | _json for name in _NAMES})


class TestWhateverIsSigned:
    async def test_is_answered_with_a_refusal_and_never_with_a_failure(self, setup: TicketSetup) -> None:
        """The random grants do not exist, so all tickets are refused, and none causes an error."""
        loop = asyncio.get_running_loop()

        async def show(claims: dict[str, Any]) -> int:
            setup.clock.at += SPAN  # so that the refusal limiter never refuses
            shown = await setup.signer.sign(claims, typ=TICKET_TYP)
            return (await setup.redeem(shown)).status_code

        @settings(max_examples=examples(60))
        @given(claim_sets)
        def every(claims: dict[str, Any]) -> None:
            assert asyncio.run_coroutine_threadsafe(show(claims), loop).result(30) in (401, 403, 404)

        await asyncio.to_thread(every)
        assert await setup.state_of(GATE) == LockState(locked=True)
