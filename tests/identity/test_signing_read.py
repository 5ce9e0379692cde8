"""The gateway reads only what it signed itself."""

import json

import jwt as pyjwt
import pytest
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from hypothesis import given
from hypothesis import strategies as st
from joserfc.util import urlsafe_b64decode, urlsafe_b64encode

from domogate.identity.rotation import rotate_keys
from domogate.identity.signing import KeyRing, TokenSigner
from domogate.identity.unverified import MAX_TOKEN
from support.clocks import ManualClock
from support.identity import AUDIENCE, ISSUER, Identity, MemoryStore, new_identity

TYP = "ticket+jwt"
CLAIMS = {"module": "m", "exp": 1, "nested": {"a": [1, None]}}


@pytest.fixture
async def identity() -> Identity:
    return await new_identity()


async def _start_signer(algorithm: str) -> TokenSigner:
    store = MemoryStore(ManualClock())
    ring = KeyRing(store, store.clock, algorithm=algorithm)
    await ring.start()
    return TokenSigner(ring, store.clock, ISSUER, AUDIENCE, access_lifetime=60.0, id_lifetime=60.0)


class TestReading:
    @pytest.mark.parametrize("algorithm", ["ES256", pytest.param("RS256", marks=pytest.mark.slow)])
    async def test_gives_back_what_was_signed_expired_or_not(self, algorithm: str) -> None:
        signer = await _start_signer(algorithm)
        assert await signer.read(await signer.sign(CLAIMS, typ=TYP), typ=TYP) == CLAIMS

    @pytest.mark.parametrize("algorithm", ["ES256", pytest.param("RS256", marks=pytest.mark.slow)])
    async def test_a_changed_payload_or_signature_is_none(self, algorithm: str) -> None:
        signer = await _start_signer(algorithm)
        head, body, signature = (await signer.sign(CLAIMS, typ=TYP)).split(".")
        made = urlsafe_b64decode(signature.encode())
        forged = [made[:-1], made + b"\0", bytes(len(made)), b"\xff" * len(made), made[::-1], b"\0" * 64, b"x"]
        if algorithm == "ES256":  # The other encoding of the same signature
            forged.append(encode_dss_signature(int.from_bytes(made[:32], "big"), int.from_bytes(made[32:], "big")))
        for other in forged:
            assert await signer.read(f"{head}.{body}.{urlsafe_b64encode(other).decode()}", typ=TYP) is None
        for other_body in (body[:-4], f"{body}AAAA", urlsafe_b64encode(b'{"exp":2}').decode()):
            assert await signer.read(f"{head}.{other_body}.{signature}", typ=TYP) is None
        assert await signer.read(f"{head}.{body}.{signature}", typ=TYP) == CLAIMS

    async def test_a_typ_must_be_just_as_it_was_signed(self, identity: Identity) -> None:
        signed = await identity.signer.sign(CLAIMS, typ=TYP)
        for typ in ("JWT", "at+jwt", "TICKET+JWT", "application/ticket+jwt", ""):
            assert await identity.signer.read(signed, typ=typ) is None

    async def test_a_signature_by_pyjwt_is_read_with_our_key_and_refused_with_another(self, identity: Identity) -> None:
        assert await identity.signer.read(identity.forge(CLAIMS, typ=TYP).decode(), typ=TYP) == CLAIMS
        other = await new_identity()
        kid = identity.store.signing_keys[0].kid
        assert await identity.signer.read(other.forge(CLAIMS, typ=TYP, kid=kid).decode(), typ=TYP) is None
        assert await identity.signer.read(other.forge(CLAIMS, typ=TYP).decode(), typ=TYP) is None

    async def test_a_payload_that_is_no_object_is_none(self, identity: Identity) -> None:
        stored = identity.store.signing_keys[0]
        key = pyjwt.PyJWK(json.loads(stored.jwk), algorithm=stored.algorithm).key
        for payload in (b"", b"[]", b"7", b'"text"', b"null", b"{", b"\xff", b"[" * 3_000):
            signed = pyjwt.api_jws.encode(payload, key, stored.algorithm, headers={"typ": TYP, "kid": stored.kid})
            assert await identity.signer.read(signed, typ=TYP) is None

    async def test_any_other_algorithm_is_none(self, identity: Identity) -> None:
        head, body, signature = (await identity.signer.sign(CLAIMS, typ=TYP)).split(".")
        secret = b"0123456789abcdef0123456789abcdef"
        kid = identity.store.signing_keys[0].kid
        for forged in (
            pyjwt.encode(CLAIMS, secret, algorithm="HS256", headers={"typ": TYP, "kid": kid}),
            pyjwt.encode(CLAIMS, "", algorithm="none", headers={"typ": TYP, "kid": kid}),
            f"{head}.{body}.",
            f"{head}.{body}",
            f"{head}.{body}.{signature}.{signature}",
            f"{head}.{body}.{signature}\n",
            f"{head}.{body}.é",
        ):
            assert await identity.signer.read(forged, typ=TYP) is None

    async def test_a_text_that_is_too_long_is_not_parsed(self, identity: Identity) -> None:
        signed = await identity.signer.sign({"filling": "x" * MAX_TOKEN}, typ=TYP)
        assert await identity.signer.read(signed, typ=TYP) is None

    async def test_a_key_that_is_retired_or_yet_to_come_is_trusted_and_one_that_is_distrusted_is_not(
        self, identity: Identity
    ) -> None:
        signed = await identity.signer.sign(CLAIMS, typ=TYP)
        await rotate_keys(identity.store, identity.clock, ahead=300.0)
        identity.clock.advance(301.0)
        newer = await identity.signer.sign(CLAIMS, typ=TYP)
        assert pyjwt.get_unverified_header(signed)["kid"] != pyjwt.get_unverified_header(newer)["kid"]
        identity.clock.advance(-301.0)
        assert [await identity.signer.read(each, typ=TYP) for each in (signed, newer)] == [CLAIMS, CLAIMS]
        identity.clock.advance(301.0 + 86_400.0)
        assert [await identity.signer.read(each, typ=TYP) for each in (signed, newer)] == [None, CLAIMS]
        await rotate_keys(identity.store, identity.clock, now=True)
        assert await identity.signer.read(newer, typ=TYP) is None

    async def test_nonsense_is_none(self, identity: Identity) -> None:
        words: list[str] = []
        _collect(words)
        for text in words:
            assert await identity.signer.read(text, typ=TYP) is None


def _collect(words: list[str]) -> None:
    @given(st.text(max_size=300) | st.lists(st.text("ABCabc123-_.", max_size=30), max_size=5).map(".".join))
    def draw(text: str) -> None:
        words.append(text)

    draw()
