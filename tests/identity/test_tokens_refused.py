"""Changed tokens, forged tokens and other texts are refused."""

import asyncio
import base64
import json
from typing import Any

import jwt as pyjwt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from joserfc.jwk import ECKey

from domogate.domain.ids import new_id
from domogate.domain.people import Grant, TokenKind, User
from support.examples import examples
from support.identity import ISSUER, NOW, new_identity, refusal


def text_of(part: bytes | dict[str, Any]) -> bytes:
    raw = part if isinstance(part, bytes) else json.dumps(part).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=")


_PLACES = st.integers(0, 100_000)
"""Each token is new, so its length and its characters must not decide what Hypothesis draws."""


class TestATamperedToken:
    @settings(max_examples=examples(40))
    @given(data=st.data())
    def test_with_any_bit_flipped_is_refused(self, data: st.DataObject) -> None:
        async def tamper() -> None:
            identity = await new_identity()
            token = bytearray(await identity.mint(data.draw(st.sampled_from(TokenKind))))
            place = data.draw(_PLACES) % len(token)
            token[place] ^= 1 << data.draw(st.integers(0, 7))
            await refusal(identity, bytes(token))

        asyncio.run(tamper())

    @settings(max_examples=examples(40))
    @given(data=st.data())
    def test_with_any_character_of_payload_or_signature_replaced_is_refused(self, data: st.DataObject) -> None:
        async def tamper() -> None:
            identity = await new_identity()
            token = await identity.mint()
            start = token.index(b".") + 1
            place = start + data.draw(_PLACES) % (len(token) - start)
            others = [character for character in b"ABCDEFabcdef0123456789-_" if character != token[place]]
            other = others[data.draw(_PLACES) % len(others)]
            await refusal(identity, token[:place] + bytes([other]) + token[place + 1 :])

        asyncio.run(tamper())

    async def test_with_the_unused_last_bits_of_its_signature_changed_is_refused(self) -> None:
        # 64 bytes in base64url leave four bits over; a lenient decoder takes 16 spellings for the same signature.
        identity = await new_identity()
        token = await identity.mint()
        spellings = [token[:-1] + bytes([last]) for last in b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"]
        for spelling in spellings:
            if spelling != token:
                await refusal(identity, spelling)

    async def test_with_another_tokens_signature_is_refused(self) -> None:
        identity = await new_identity()
        one, two = await identity.mint(), await identity.mint()
        mixed = b".".join([*one.split(b".")[:2], two.split(b".")[2]])
        assert "signature" in await refusal(identity, mixed)

    async def test_with_something_before_or_after_it_is_refused(self) -> None:
        identity = await new_identity()
        token = await identity.mint()
        await identity.verify(token)
        for changed in (token + b"=", token + b"\n", b" " + token, token + b".", token + b".AAAA", token[:-1]):
            await refusal(identity, changed)


class TestAForgedToken:
    @pytest.mark.parametrize("alg", ["none", "None", "NONE", "nOnE"])
    async def test_without_signature_is_refused_however_none_is_written(self, alg: str) -> None:
        identity = await new_identity()
        header = text_of({"alg": alg, "typ": "at+jwt", "kid": identity.store.signing_keys[0].kid})
        for signature in (b"", text_of(b"x" * 64)):
            message = await refusal(identity, b".".join([header, text_of(identity.claims()), signature]))
        assert "unsupported algorithm" in message

    async def test_by_pyjwt_with_alg_none_is_refused(self) -> None:
        identity = await new_identity()
        headers = {"typ": "at+jwt", "kid": identity.store.signing_keys[0].kid}
        await refusal(identity, pyjwt.encode(identity.claims(), "", algorithm="none", headers=headers).encode())

    @pytest.mark.parametrize("alg", ["HS256", "HS384", "HS512"])
    async def test_with_hmac_keyed_by_the_public_key_is_refused(self, alg: str) -> None:
        identity = await new_identity()
        ring_key = await identity.keyring.find_current()
        jwk = (await identity.signer.jwks())["keys"][0]
        secrets = [
            ring_key.key.as_bytes(encoding="PEM", private=False),
            ring_key.key.as_bytes(encoding="DER", private=False),
            json.dumps(jwk).encode(),
            jwk["x"].encode(),
        ]
        for secret in secrets:
            header = text_of({"alg": alg, "typ": "at+jwt", "kid": ring_key.kid})
            signing_input = header + b"." + text_of(identity.claims())
            algorithm = pyjwt.get_algorithm_by_name(alg)
            signature = algorithm.sign(signing_input, secret)
            message = await refusal(identity, signing_input + b"." + text_of(signature))
            assert "unsupported algorithm" in message

    @pytest.mark.parametrize("alg", ["ES384", "PS256", "EdDSA", "es256", "", "ES256K"])
    async def test_with_an_algorithm_outside_the_allow_list_is_refused(self, alg: str) -> None:
        identity = await new_identity()
        header = text_of({"alg": alg, "typ": "at+jwt", "kid": identity.store.signing_keys[0].kid})
        message = await refusal(identity, b".".join([header, text_of(identity.claims()), text_of(b"x" * 64)]))
        assert "ES256 or RS256" in message

    async def test_with_another_allowed_algorithm_than_its_keys_is_refused(self) -> None:
        identity = await new_identity()
        header = text_of({"alg": "RS256", "typ": "at+jwt", "kid": identity.store.signing_keys[0].kid})
        message = await refusal(identity, b".".join([header, text_of(identity.claims()), text_of(b"x" * 64)]))
        assert "algorithm" in message

    async def test_by_a_strangers_key_is_refused_under_its_own_kid_ours_or_with_the_key_enclosed(self) -> None:
        identity = await new_identity()
        ours = identity.store.signing_keys[0].kid
        stranger = ECKey.generate_key("P-256")
        stranger_key = stranger.private_key
        assert stranger_key is not None
        public = stranger.as_dict(private=False)
        for headers, word in (
            ({"kid": stranger.thumbprint()}, "unknown"),
            ({}, "unknown"),
            ({"kid": ours}, "signature"),
            ({"kid": ours, "jwk": public}, "signature"),
            ({"kid": ours, "jku": "https://stranger.example/jwks"}, "signature"),
        ):
            token = pyjwt.encode(
                identity.claims(), stranger_key, algorithm="ES256", headers={"typ": "at+jwt", **headers}
            ).encode()
            assert word in await refusal(identity, token)

    async def test_with_a_critical_header_we_do_not_know_is_refused(self) -> None:
        identity = await new_identity()
        await refusal(identity, identity.forge(identity.claims(), crit=["exp"], exp=1))

    @pytest.mark.parametrize("typ", [None, "JOSE", "ticket+jwt", "at+jwtx", "application/", "rt+jwt"])
    async def test_of_another_typ_is_refused(self, typ: str | None) -> None:
        identity = await new_identity()
        assert "at+jwt" in await refusal(identity, identity.forge(identity.claims(), typ=typ))

    async def test_of_one_kind_does_not_pass_as_the_other(self) -> None:
        identity = await new_identity()
        assert "audience" in await refusal(identity, identity.forge(identity.claims(aud="demo-app"), typ="at+jwt"))
        # With typ JWT the audience is a client, and no client has the name of the gateway.
        assert "grant" in await refusal(identity, identity.forge(identity.claims(), typ="JWT"))

    @pytest.mark.parametrize(
        ("changed", "word"),
        [
            ({"iss": ISSUER + "/"}, "issuer"),
            ({"iss": ISSUER.upper()}, "issuer"),
            ({"iss": "https://elsewhere.example"}, "issuer"),
            ({"iss": [ISSUER]}, "issuer"),
            ({"iss": ""}, "issuer"),
            ({"iss": None}, "iss"),
            ({"aud": "https://gateway.example/"}, "audience"),
            ({"aud": "unknown-client"}, "audience"),
            ({"aud": []}, "audience"),
            ({"aud": None}, "aud"),
            ({"exp": int(NOW)}, "expired"),
            ({"exp": int(NOW) - 3600, "iat": int(NOW) - 7200}, "expired"),
            ({"exp": 0}, "expired"),
            ({"exp": None}, "exp"),
            ({"exp": "never"}, "exp"),
            ({"exp": True}, "exp"),
            ({"exp": 10**400}, "claims"),
            ({"exp": 1e300}, "claims"),
            ({"nbf": int(NOW) + 60}, "not valid yet"),
            ({"nbf": "soon"}, "nbf"),
            ({"iat": int(NOW) + 60}, "not valid yet"),
            ({"iat": None}, "iat"),
            ({"iat": "now"}, "iat"),
            ({"iat": -5}, "claims"),
            ({"sub": None}, "sub"),
            ({"sub": ""}, "sub"),
            ({"sub": "anna@example.com"}, "user"),
            ({"sub": 7}, "sub"),
            ({"sub": "00000000-0000-4000-8000-00000000abcd"}, "grant"),
            ({"client_id": None}, "client_id"),
            ({"client_id": ["demo-app"]}, "claims"),
            ({"client_id": "unknown-client"}, "grant"),
            ({"grant": None}, "grant"),
            ({"grant": "00000000-0000-4000-8000-00000000abcd"}, "grant"),
            ({"grant": "x\x00"}, "grant"),
            ({"scope": None}, "scope"),
            ({"scope": ["topology.read"]}, "claims"),
        ],
        ids=str,
    )
    async def test_that_says_something_wrong_is_refused_with_what_is_wrong(self, changed: dict[str, Any], word: str) -> None:
        identity = await new_identity()
        payload = identity.claims(**changed)
        try:
            token = identity.forge(payload)
        except TypeError:  # PyJWT does not sign an issuer that is not a string
            token = (await identity.signer.sign(payload, typ="at+jwt")).encode()
        assert word in await refusal(identity, token)

    @pytest.mark.parametrize("life", [-10, 0])
    async def test_that_ends_before_it_begins_is_refused(self, life: int) -> None:
        identity = await new_identity(leeway=60.0)
        soon = int(identity.clock.now()) + 30
        assert "after it was issued" in await refusal(identity, identity.forge(identity.claims(iat=soon, exp=soon + life)))

    @pytest.mark.parametrize(("leeway", "ahead"), [(0.0, 1), (1.0, 2), (1.5, 3), (None, 3), (60.0, 61)])
    async def test_from_further_ahead_than_the_leeway_is_refused(self, leeway: float | None, ahead: int) -> None:
        """Without a setting the leeway is two seconds."""
        identity = await new_identity(**({} if leeway is None else {"leeway": leeway}))
        now = int(identity.clock.now())
        for claim in ("iat", "nbf"):
            assert "not valid yet" in await refusal(identity, identity.forge(identity.claims(**{claim: now + ahead})))
            await identity.verify(identity.forge(identity.claims(**{claim: now + ahead - 1})))

    async def test_is_not_kept_alive_by_the_leeway(self) -> None:
        identity = await new_identity(leeway=60.0)
        now = int(identity.clock.now())
        assert "expired" in await refusal(identity, identity.forge(identity.claims(iat=now - 100, exp=now)))

    async def test_that_names_several_clients_is_refused(self) -> None:
        identity = await new_identity()
        several = identity.forge(identity.claims(aud=["demo-app", "other"], client_id=None), typ="JWT")
        assert "one client" in await refusal(identity, several)
        await refusal(identity, identity.forge(identity.claims(aud=[], client_id=None), typ="JWT"))

    @pytest.mark.parametrize("claim", ["sub", "grant"])
    async def test_whose_user_or_grant_is_not_an_id_is_refused(self, claim: str) -> None:
        identity = await new_identity()
        assert "one user" in await refusal(identity, identity.forge(identity.claims(**{claim: "not-an-id"})))

    @pytest.mark.parametrize("payload", [b"[]", b'"x"', b"null", b"{", b"\xff", b'{"exp": NaN}', b"[" * 5000], ids=repr)
    async def test_whose_payload_is_not_an_object_is_refused(self, payload: bytes) -> None:
        identity = await new_identity()
        stored = identity.store.signing_keys[0]
        key = pyjwt.PyJWK(json.loads(stored.jwk), algorithm="ES256").key
        token = pyjwt.PyJWS().encode(payload, key, algorithm="ES256", headers={"typ": "at+jwt", "kid": stored.kid})
        await refusal(identity, token.encode())

    async def test_tells_nothing_of_other_users(self) -> None:
        identity = await new_identity()
        bruno = User(new_id(), "bruno@example.com", "Bruno", password_hash="x")
        grant = Grant(new_id(), bruno.id, "demo-app", ())
        identity.store.users[bruno.id], identity.store.grants[grant.id] = bruno, grant
        of_another = await refusal(identity, identity.forge(identity.claims(grant=grant.id)))
        of_nobody = await refusal(identity, identity.forge(identity.claims(grant=new_id())))
        assert of_another == of_nobody
        assert "bruno" not in of_another.lower()


class TestWhatIsNoToken:
    @pytest.mark.parametrize(
        "garbage",
        [
            b"",
            b".",
            b"..",
            b"...",
            b"a.b.c",
            b"dgr_opaque-refresh-token",
            b"a" * 9000,
            b"Bearer x",
            "tökên.é.ü".encode(),
            b"\xff.\xff.\xff",
            b"\x00.\x00.\x00",
            b"eyJhbGciOiJFUzI1NiJ9..",
            text_of(b'["alg"]') + b".e30.AAAA",
            text_of(b"7") + b".e30.AAAA",
            text_of(b'{"alg": 7, "kid": {}}') + b".e30.AAAA",
            text_of(b"[" * 350) + b".e30.AAAA",
            text_of(b'{"alg": "ES256", "kid": "' + b"k" * 600 + b'"}') + b".e30.AAAA",
            b"a.b.c.d.e",
        ],
        ids=lambda it: repr(it[:30]),
    )
    async def test_is_refused_without_asking_the_store(self, garbage: bytes) -> None:
        identity = await new_identity()
        identity.store.reads.clear()
        await refusal(identity, garbage)
        assert identity.store.reads == []

    @settings(max_examples=examples(50))
    @given(garbage=st.binary(max_size=200) | st.from_regex(rb"[A-Za-z0-9_-]{1,40}\.[A-Za-z0-9_-]{1,40}\.[A-Za-z0-9_-]{0,40}"))
    def test_is_refused_whatever_it_is(self, garbage: bytes) -> None:
        async def refuse() -> None:
            await refusal(await new_identity(), garbage)

        asyncio.run(refuse())

    async def test_a_good_token_that_is_too_long_is_refused(self) -> None:
        identity = await new_identity()
        assert "8192" in await refusal(identity, identity.forge(identity.claims(padding="x" * 8000)))
