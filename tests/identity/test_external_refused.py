"""A token of an external issuer that is wrong or forged is refused."""

import asyncio
import base64
import hmac
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domogate.domain.faults import TokenRefused
from domogate.domain.ids import new_id
from domogate.domain.people import User
from domogate.identity.external import ExternalIssuer, IssuerProfile
from support.examples import examples
from support.identity import AUDIENCE, new_identity, new_verifier
from support.issuer import FakeIssuer, IssuerKey
from support.issuer_fixture import KEY, URL, new_issuers


class TestAWrongToken:
    @pytest.mark.parametrize(
        ("changed", "word"),
        [
            ({"aud": "https://other.example"}, "audience"),
            ({"aud": f"{AUDIENCE}/"}, "audience"),
            ({"aud": []}, "aud"),
            ({"aud": {"x": 1}}, "aud"),
            ({"aud": None}, "aud"),
            ({"exp": None}, "exp"),
            ({"exp": 1}, "expired"),
            ({"exp": "tomorrow"}, "exp"),
            ({"exp": 1e300}, "claims"),
            ({"iat": None}, "iat"),
            ({"iat": 4_000_000_000}, "iat"),
            ({"nbf": 4_000_000_000}, "nbf"),
            ({"sub": None}, "sub"),
            ({"sub": 7}, "sub"),
            ({"client_id": "stranger"}, "client"),
            ({"client_id": None}, "client"),
            ({"client_id": 7}, "client"),
            ({"email": None}, "e-mail"),
            ({"email": ["anna@example.com"]}, "e-mail"),
            ({"email_verified": None}, "e-mail"),
            ({"email_verified": False}, "e-mail"),
            ({"email": "nobody@example.com"}, "user"),
            ({"email": "anna@guest.invalid"}, "e-mail"),
            ({"iat": 1_799_900_000}, "lifetime"),
        ],
    )
    async def test_is_refused_for_what_is_wrong(self, changed: dict[str, Any], word: str) -> None:
        issuers = await new_issuers()
        assert word in await issuers.refusal(issuers.access(**changed))

    @pytest.mark.parametrize("iss", [f"{URL}/", URL.upper(), "https://other.example", [URL], None, ""])
    async def test_of_any_other_issuer_is_refused(self, iss: Any) -> None:
        issuers = await new_issuers()
        await issuers.refusal(issuers.access(iss=iss))
        assert issuers.source.fetched == []

    async def test_that_is_an_id_token_for_another_client_is_refused_even_if_it_names_ours_too(self) -> None:
        issuers = await new_issuers()
        for changed in (
            {"aud": "stranger"}, {"aud": ["their-app", "stranger"]}, {"aud": "their-app", "azp": "stranger"},
            {"aud": "stranger", "azp": "their-app"}, {"aud": AUDIENCE},
        ):  # fmt: skip
            assert "client" in await issuers.refusal(issuers.id(**changed))

    async def test_of_a_profile_without_audiences_is_no_access_token(self) -> None:
        issuers = await new_issuers(audiences=())
        assert "audience" in await issuers.refusal(issuers.access())
        await issuers.verify(issuers.id())

    async def test_of_no_known_kind_is_refused(self) -> None:
        issuers = await new_issuers()
        for token in (issuers.access(typ="JWT"), issuers.access(typ="logout+jwt"), issuers.id(events={"http://x": {}})):
            assert "cannot tell whether" in await issuers.refusal(token)

    async def test_of_a_user_who_is_not_active_is_refused(self) -> None:
        issuers = await new_issuers()
        await issuers.identity.store.save_user(msgspec.structs.replace(issuers.identity.anna, password_hash=None))
        assert "not active" in await issuers.refusal(issuers.access())

    async def test_of_a_client_that_is_not_registered_here_is_refused(self) -> None:
        issuers = await new_issuers()
        del issuers.identity.store.clients["demo-app"]
        assert "not registered" in await issuers.refusal(issuers.access())

    async def test_tells_nothing_of_other_users(self) -> None:
        issuers = await new_issuers()
        unknown = await issuers.refusal(issuers.access(email="nobody@example.com"))
        await issuers.identity.store.save_user(msgspec.structs.replace(issuers.identity.anna, password_hash=None))
        assert await issuers.refusal(issuers.access()) == unknown

    async def test_of_a_person_without_a_user_here_begins_no_write(self, monkeypatch: pytest.MonkeyPatch) -> None:
        issuers = await new_issuers()
        store = issuers.identity.store
        await issuers.verify(issuers.access())
        await store.save_user(User(new_id(), "dora@example.com"))

        async def write(*_: object) -> None:
            raise AssertionError("there is nothing to write")

        monkeypatch.setattr(store, "bind_external_account", write)
        unknown = issuers.access(sub="another", email="nobody@example.com")
        not_active = issuers.access(sub="another", email="dora@example.com")
        bound_to_another_account = issuers.access(sub="another")
        for token in (unknown, not_active, bound_to_another_account):
            assert "does not exist here" in await issuers.refusal(token)


class TestAForgedToken:
    @pytest.mark.parametrize("alg", ["none", "None", "NONE", "", "HS256", "RS512", "ES512"])
    async def test_with_an_algorithm_outside_the_allow_list_is_refused_before_any_key_is_fetched(self, alg: str) -> None:
        issuers = await new_issuers()
        header = base64.urlsafe_b64encode(json.dumps({"alg": alg, "typ": "at+jwt", "kid": "k1"}).encode()).rstrip(b"=")
        _, payload, signature = issuers.access().split(b".")
        for end in (signature, b"AA"):
            assert "algorithm" in await issuers.refusal(b".".join((header, payload, end)))
        assert issuers.source.fetched == []

    async def test_with_hmac_keyed_by_the_public_key_is_refused(self) -> None:
        issuers = await new_issuers()
        header = base64.urlsafe_b64encode(b'{"alg":"HS256","typ":"at+jwt","kid":"k1"}').rstrip(b"=")
        signed = header + b"." + issuers.access().split(b".")[1]
        signature = hmac.digest(json.dumps(KEY.public).encode(), signed, "sha256")
        token = signed + b"." + base64.urlsafe_b64encode(signature).rstrip(b"=")
        assert "algorithm" in await issuers.refusal(token)

    @pytest.mark.slow
    async def test_with_an_algorithm_its_key_is_not_for_is_refused(self) -> None:
        issuers = await new_issuers()
        pss = IssuerKey("k1", "PS256")
        pss.private = KEY.private
        assert "another algorithm" in await issuers.refusal(issuers.access(pss))

    async def test_by_a_strangers_key_is_refused_under_its_own_id_the_issuers_or_with_the_key_enclosed(self) -> None:
        issuers = await new_issuers(IssuerKey("k1"))
        stranger = IssuerKey("k1")
        assert "signature" in await issuers.refusal(issuers.access(stranger))
        enclosed = stranger.sign(issuers.claims(), typ="at+jwt", jwk=stranger.public, jku="https://evil.example/jwks")
        assert "signature" in await issuers.refusal(enclosed)
        stranger.kid = "k2"
        assert "key set" in await issuers.refusal(issuers.access(stranger))
        assert all(url.startswith(URL) for url in issuers.source.fetched)

    async def test_by_the_gateways_own_key_in_the_issuers_name_is_refused(self) -> None:
        issuers = await new_issuers()
        token = issuers.identity.forge(issuers.claims())
        assert "key set" in await issuers.refusal(token)

    async def test_by_the_issuer_in_the_gateways_name_is_refused(self) -> None:
        issuers = await new_issuers()
        claims = issuers.identity.claims()
        assert "kid" in await issuers.refusal(IssuerKey("k1").sign(claims, typ="at+jwt"))

    @pytest.mark.slow
    async def test_by_one_issuer_in_anothers_name_is_refused(self) -> None:
        identity = await new_identity()
        other = IssuerKey("k1", "RS256")
        issuers = [
            ExternalIssuer(IssuerProfile(url=url, clients={"their-app": "demo-app"}), FakeIssuer(url, key), identity.clock)
            for url, key in ((URL, KEY), ("https://other.example", other))
        ]
        verifier = new_verifier(identity.store, identity.keyring, others=issuers)
        source = await new_issuers()
        await verifier.verify(source.id())
        with pytest.raises(TokenRefused, match="signature"):
            await verifier.verify(source.id(other))

    @pytest.mark.parametrize("crit", [1, "exp", ["exp"], [1]], ids=repr)
    async def test_with_a_critical_header_is_refused(self, crit: object) -> None:
        issuers = await new_issuers()
        assert "signature" in await issuers.refusal(KEY.sign(issuers.claims(), typ="at+jwt", crit=crit))

    @settings(max_examples=examples(40))
    @given(st.data())
    def test_with_any_bit_flipped_is_refused(self, data: st.DataObject) -> None:
        async def flip() -> None:
            issuers = await new_issuers()
            token = bytearray(issuers.access())
            place = data.draw(st.integers(0, len(token) - 1))
            token[place] ^= 1 << data.draw(st.integers(0, 7))
            # The last character of the encoding may have unused bits; the decoder refuses a change of those too.
            await issuers.refusal(bytes(token))

        asyncio.run(flip())

    @settings(max_examples=examples(40))
    @given(st.binary(max_size=400))
    def test_any_other_text_is_refused_without_a_fetch(self, garbage: bytes) -> None:
        async def send() -> None:
            issuers = await new_issuers()
            await issuers.refusal(garbage)
            await issuers.refusal(b"e30." + base64.urlsafe_b64encode(garbage) + b".AA")
            assert issuers.source.fetched == []

        asyncio.run(send())


@pytest.mark.parametrize("subject", ["x" * 256, "a\0b", "a\nb"])
async def test_a_subject_that_cannot_be_stored_is_refused(subject: str) -> None:
    issuers = await new_issuers()
    assert "subject" in await issuers.refusal(issuers.access(sub=subject))
