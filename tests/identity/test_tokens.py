import asyncio
import base64
import json
from typing import Any

import jwt as pyjwt
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from joserfc.jwk import ECKey

from domogate.domain.events import SigningKeysChanged
from domogate.domain.faults import TokenRefused
from domogate.domain.ids import new_id
from domogate.domain.people import Client, Grant, GrantType, Standing, TokenKind, User
from support.examples import examples
from support.identity import ISSUER, NOW, Identity, new_identity

KINDS = pytest.mark.parametrize("kind", TokenKind)


def text_of(part: bytes | dict[str, Any]) -> bytes:
    raw = part if isinstance(part, bytes) else json.dumps(part).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=")


async def refusal(identity: Identity, token: bytes) -> str:
    with pytest.raises(TokenRefused) as caught:
        await identity.verify(token)
    assert identity.verifier.find_verified(token) is None
    return caught.value.message


class TestAGoodToken:
    @KINDS
    async def test_becomes_a_principal_and_is_then_found_without_the_store(self, kind: TokenKind) -> None:
        identity = await new_identity()
        token = await identity.mint(kind)
        assert identity.verifier.find_verified(token) is None
        principal = await identity.verify(token)
        assert (principal.user_id, principal.client_id, principal.grant_id) == (identity.anna.id, "demo-app", identity.grant.id)
        assert principal.kind is kind
        assert principal.scopes == {"topology.read", "light.read"}
        assert principal.expires_at == int(NOW) + 3600
        assert principal.standing is Standing.GOOD
        identity.store.reads.clear()
        assert identity.verifier.find_verified(token) is principal
        assert identity.store.reads == []

    async def test_carries_flow_standing_and_the_clients_exception(self) -> None:
        identity = await new_identity()
        identity.store.users[identity.anna.id] = msgspec.structs.replace(identity.anna, standing=Standing.TERMS_EXPIRED)
        identity.store.clients["demo-app"] = msgspec.structs.replace(identity.app, access_token_everywhere=True)
        identity.store.grants[identity.grant.id] = msgspec.structs.replace(identity.grant, flow=GrantType.IMPLICIT)
        principal = await identity.verify(await identity.mint())
        assert principal.flow is GrantType.IMPLICIT
        assert principal.access_token_everywhere is True
        assert principal.standing is Standing.TERMS_EXPIRED

    async def test_has_the_scopes_that_both_token_and_grant_have(self) -> None:
        identity = await new_identity()
        token = identity.forge(identity.claims(scope="topology.read plug.write TOPOLOGY.READ light.readx"))
        assert (await identity.verify(token)).scopes == {"topology.read"}

    async def test_may_have_no_scope_at_all(self) -> None:
        identity = await new_identity()
        assert (await identity.verify(identity.forge(identity.claims(scope="")))).scopes == frozenset()

    @pytest.mark.parametrize("typ", ["at+jwt", "AT+JWT", "application/at+jwt", "Application/At+Jwt"])
    async def test_may_spell_its_typ_in_any_case_and_in_full(self, typ: str) -> None:
        identity = await new_identity()
        assert (await identity.verify(identity.forge(identity.claims(), typ=typ))).kind is TokenKind.ACCESS

    async def test_may_write_its_audience_as_an_array(self) -> None:
        identity = await new_identity()
        token = identity.forge(identity.claims(aud=["https://elsewhere.example", "https://gateway.example"]))
        assert (await identity.verify(token)).kind is TokenKind.ACCESS
        id_token = identity.forge(identity.claims(aud=["demo-app"], client_id=None), typ="JWT")
        assert (await identity.verify(id_token)).client_id == "demo-app"

    async def test_of_a_clock_a_moment_ahead_is_accepted(self) -> None:
        identity = await new_identity()
        ahead = int(identity.clock.now()) + 2
        assert await identity.verify(identity.forge(identity.claims(iat=ahead, nbf=ahead)))

    @settings(max_examples=examples(20))
    @given(
        email=st.emails(),
        name=st.text(st.characters(codec="utf-8"), max_size=40),
        client_id=st.text(st.characters(codec="utf-8", exclude_categories=["C"]), min_size=1, max_size=40),
        scopes=st.frozensets(st.sampled_from(["plug.read", "plug.write", "scene.launch", "safety.read", "openid"])),
        kind=st.sampled_from(TokenKind),
    )
    def test_whatever_is_minted_comes_back(
        self, email: str, name: str, client_id: str, scopes: frozenset[str], kind: TokenKind
    ) -> None:
        async def round_trip() -> None:
            identity = await new_identity()
            user, client = User(new_id(), email, name), Client(client_id, "App")
            grant = Grant(new_id(), user.id, client.id, tuple(scopes))
            identity.store.users[user.id], identity.store.clients[client.id] = user, client
            identity.store.grants[grant.id] = grant
            principal = await identity.verify((await identity.signer.mint_token(kind, user, client, grant)).encode())
            assert (principal.user_id, principal.client_id, principal.grant_id) == (user.id, client.id, grant.id)
            assert (principal.kind, principal.scopes) == (kind, scopes)

        asyncio.run(round_trip())


class TestATamperedToken:
    @settings(max_examples=examples(40))
    @given(data=st.data())
    def test_with_any_bit_flipped_is_refused(self, data: st.DataObject) -> None:
        async def tamper() -> None:
            identity = await new_identity()
            token = bytearray(await identity.mint(data.draw(st.sampled_from(TokenKind))))
            place = data.draw(st.integers(0, len(token) - 1))
            token[place] ^= 1 << data.draw(st.integers(0, 7))
            await refusal(identity, bytes(token))

        asyncio.run(tamper())

    @settings(max_examples=examples(40))
    @given(data=st.data())
    def test_with_any_character_of_payload_or_signature_replaced_is_refused(self, data: st.DataObject) -> None:
        async def tamper() -> None:
            identity = await new_identity()
            token = await identity.mint()
            place = data.draw(st.integers(token.index(b".") + 1, len(token) - 1))
            other = data.draw(st.sampled_from(b"ABCDEFabcdef0123456789-_").filter(lambda it: it != token[place]))
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
        await refusal(identity, pyjwt.encode(identity.claims(), None, algorithm="none", headers=headers).encode())

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
        public = stranger.as_dict(private=False)
        for headers, word in (
            ({"kid": stranger.thumbprint()}, "unknown"),
            ({}, "unknown"),
            ({"kid": ours}, "signature"),
            ({"kid": ours, "jwk": public}, "signature"),
            ({"kid": ours, "jku": "https://stranger.example/jwks"}, "signature"),
        ):
            token = pyjwt.encode(
                identity.claims(), stranger.private_key, algorithm="ES256", headers={"typ": "at+jwt", **headers}
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
        # Under typ JWT the audience is the client, and no client is called like the gateway.
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
        except TypeError:  # PyJWT does not sign an issuer that is no text
            token = (await identity.signer.sign(payload, typ="at+jwt")).encode()
        assert word in await refusal(identity, token)

    async def test_that_ends_before_it_begins_is_refused(self) -> None:
        identity = await new_identity(leeway=60.0)
        soon = int(identity.clock.now()) + 30
        assert "begins" in await refusal(identity, identity.forge(identity.claims(iat=soon, exp=soon - 10)))

    async def test_that_names_several_clients_is_refused(self) -> None:
        identity = await new_identity()
        for audience in (["demo-app", "other"], []):
            await refusal(identity, identity.forge(identity.claims(aud=audience, client_id=None), typ="JWT"))

    @pytest.mark.parametrize("payload", [b"[]", b'"x"', b"null", b"{", b"\xff", b'{"exp": NaN}', b"[" * 5000], ids=repr)
    async def test_whose_payload_is_no_object_is_refused(self, payload: bytes) -> None:
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


class TestAVerifiedToken:
    async def test_ends_at_its_expiry_to_the_moment(self) -> None:
        identity = await new_identity()
        token = await identity.mint(lifetime=60.0)
        await identity.verify(token)
        identity.clock.time = int(NOW) + 59.99
        assert identity.verifier.find_verified(token) is not None
        identity.clock.time = float(int(NOW) + 60)
        assert "expired" in await refusal(identity, token)

    @pytest.mark.parametrize("fraction", [0.25, 0.5])
    async def test_may_end_within_a_second(self, fraction: float) -> None:
        identity = await new_identity()
        token = identity.forge(identity.claims(exp=int(NOW) + 10 + fraction))
        await identity.verify(token)
        identity.clock.time = int(NOW) + 10 + fraction
        assert "expired" in await refusal(identity, token)

    @KINDS
    async def test_is_refused_from_the_next_call_once_its_grant_is_revoked(self, kind: TokenKind) -> None:
        identity = await new_identity()
        token = await identity.mint(kind)
        await identity.verify(token)
        await identity.store.revoke_grant(identity.grant.id, identity.clock.now())
        assert identity.verifier.find_verified(token) is None
        assert "revoked" in await refusal(identity, token)

    async def test_is_refused_from_the_next_call_once_its_user_is_deleted(self) -> None:
        identity = await new_identity()
        token = await identity.mint()
        await identity.verify(token)
        await identity.store.delete_user(identity.anna.id)
        assert "user" in await refusal(identity, token)

    async def test_is_refused_once_its_client_is_gone(self) -> None:
        identity = await new_identity()
        token = await identity.mint(TokenKind.ID)
        await identity.verify(token)
        await identity.store.save_client(Client("demo-app", "Renamed"))
        del identity.store.clients["demo-app"]
        assert "client" in await refusal(identity, token)

    async def test_shows_a_change_of_standing_at_the_next_call(self) -> None:
        identity = await new_identity()
        token = await identity.mint()
        await identity.verify(token)
        await identity.store.save_user(msgspec.structs.replace(identity.anna, standing=Standing.PASSWORD_EXPIRED))
        assert identity.verifier.find_verified(token) is None
        assert (await identity.verify(token)).standing is Standing.PASSWORD_EXPIRED

    async def test_shows_a_change_of_its_client_at_the_next_call(self) -> None:
        identity = await new_identity()
        token = await identity.mint()
        assert (await identity.verify(token)).access_token_everywhere is False
        await identity.store.save_client(msgspec.structs.replace(identity.app, access_token_everywhere=True))
        assert identity.verifier.find_verified(token) is None
        assert (await identity.verify(token)).access_token_everywhere is True

    async def test_is_left_alone_by_changes_of_others(self) -> None:
        identity = await new_identity()
        token = await identity.mint()
        principal = await identity.verify(token)
        bruno = User(new_id(), "bruno@example.com")
        other = Grant(new_id(), bruno.id, "other", ())
        await identity.store.add_grant(other)
        await identity.store.save_user(bruno)
        await identity.store.revoke_grant(other.id, 1.0)
        await identity.store.save_client(Client("other", "Other"))
        assert identity.verifier.find_verified(token) is principal

    async def test_of_a_key_that_is_gone_is_refused(self) -> None:
        identity = await new_identity()
        token = await identity.mint()
        await identity.verify(token)
        identity.store.signing_keys.clear()
        identity.store.tell(SigningKeysChanged())
        assert "key set" in await refusal(identity, token)

    async def test_is_forgotten_when_too_many_others_came_after_it(self) -> None:
        identity = await new_identity(cache_size=8)
        tokens = [await identity.mint() for _ in range(30)]
        for token in tokens:
            await identity.verify(token)
        found = [token for token in tokens if identity.verifier.find_verified(token) is not None]
        assert tokens[-1] in found
        assert len(found) <= 8


class TestAChangeDuringVerification:
    async def verify_while(self, identity: Identity, token: bytes, change: Any) -> Any:
        """The store reads, then the change is committed and applied, then the store's old answer arrives."""
        identity.store.held = asyncio.Event()
        verifying = asyncio.create_task(identity.verify(token))
        while "grant" not in identity.store.reads:
            await asyncio.sleep(0)
        await change
        identity.store.held.set()
        return await verifying

    async def test_a_grant_revoked_meanwhile_is_refused_and_not_remembered(self) -> None:
        identity = await new_identity()
        token = await identity.mint()
        with pytest.raises(TokenRefused, match="revoked"):
            await self.verify_while(identity, token, identity.store.revoke_grant(identity.grant.id, 1.0))
        assert identity.verifier.find_verified(token) is None

    async def test_a_standing_changed_meanwhile_is_the_one_remembered(self) -> None:
        identity = await new_identity()
        token = await identity.mint()
        # The user is read last: hold that answer, and no other.
        original = identity.store.find_user
        asked, go_on = asyncio.Event(), asyncio.Event()

        async def slow_find_user(user_id: Any) -> Any:
            user = await original(user_id)
            asked.set()
            await go_on.wait()
            return user

        identity.store.find_user = slow_find_user
        verifying = asyncio.create_task(identity.verify(token))
        await asked.wait()
        await identity.store.save_user(msgspec.structs.replace(identity.anna, standing=Standing.BOTH_EXPIRED))
        go_on.set()
        assert (await verifying).standing is Standing.BOTH_EXPIRED
        found = identity.verifier.find_verified(token)
        assert found is not None
        assert found.standing is Standing.BOTH_EXPIRED

    async def test_changes_without_end_do_not_hold_a_request_up_for_ever_and_nothing_is_remembered(self) -> None:
        identity = await new_identity()
        token = await identity.mint()
        original = identity.store.find_user

        async def always_changing(user_id: Any) -> Any:
            user = await original(user_id)
            await identity.store.save_user(identity.anna)
            return user

        identity.store.find_user = always_changing
        assert (await identity.verify(token)).user_id == identity.anna.id
        assert identity.verifier.find_verified(token) is None
