"""The first accepted token of an external account binds it to a user by e-mail; afterwards issuer and subject count."""

from typing import Any

import msgspec
import pytest

from domogate.domain.faults import TokenRefused
from domogate.domain.people import Client, TokenKind
from domogate.identity.external import ExternalClaims, find_external_principal
from domogate.stores import SqlStore
from support.clocks import NOW
from support.stores import ANNA, BRUNO

URL, OTHER_URL = "https://id.example", "https://other.example"


def a_claim(**changed: Any) -> ExternalClaims:
    claims = ExternalClaims(TokenKind.ACCESS, URL, "anna-at-id", ANNA.email, "app", frozenset({"a"}), NOW + 60)
    return msgspec.structs.replace(claims, **changed)


class TestBinding:
    @pytest.fixture
    async def store(self, filled_store: SqlStore) -> SqlStore:
        await filled_store.save_client(Client("app", "App", scopes=("a",)))
        for user in (ANNA, BRUNO):
            await filled_store.save_user(msgspec.structs.replace(user, password_hash="hash"))
        return filled_store

    async def test_the_first_token_binds_by_email(self, store: SqlStore) -> None:
        principal = await find_external_principal(store, a_claim(email=ANNA.email.upper()), NOW)
        assert principal.user_id == ANNA.id
        (account,) = await store.list_external_accounts(ANNA.id)
        assert (account.issuer, account.subject, account.bound_at) == (URL, "anna-at-id", NOW)

    async def test_a_refused_token_binds_nothing(self, store: SqlStore) -> None:
        with pytest.raises(TokenRefused, match="client is not registered"):
            await find_external_principal(store, a_claim(client_id="unknown"), NOW)
        assert not await store.list_external_accounts(ANNA.id)
        assert (await find_external_principal(store, a_claim(subject="another"), NOW)).user_id == ANNA.id

    async def test_a_bound_account_keeps_its_user_whatever_its_email_becomes(self, store: SqlStore) -> None:
        await find_external_principal(store, a_claim(), NOW)
        for email in (BRUNO.email, "new@example.com"):
            assert (await find_external_principal(store, a_claim(email=email), NOW)).user_id == ANNA.id

    async def test_another_account_with_the_same_email_is_refused(self, store: SqlStore) -> None:
        await find_external_principal(store, a_claim(), NOW)
        with pytest.raises(TokenRefused, match="bound to another account"):
            await find_external_principal(store, a_claim(subject="somebody-else"), NOW)

    async def test_one_account_for_each_issuer(self, store: SqlStore) -> None:
        for issuer in (URL, OTHER_URL):
            assert (await find_external_principal(store, a_claim(issuer=issuer), NOW)).user_id == ANNA.id
        assert len(await store.list_external_accounts(ANNA.id)) == 2

    async def test_the_same_subject_of_another_issuer_is_another_account(self, store: SqlStore) -> None:
        await find_external_principal(store, a_claim(), NOW)
        other = a_claim(issuer=OTHER_URL, email=BRUNO.email)
        assert (await find_external_principal(store, other, NOW)).user_id == BRUNO.id

    async def test_an_email_is_not_folded(self, store: SqlStore) -> None:
        long_s = ANNA.email.replace("example", "e\N{LATIN SMALL LETTER X}ample").replace(
            "a", "\N{FULLWIDTH LATIN SMALL LETTER A}", 1
        )
        for email in (long_s, "b@\N{KELVIN SIGN}.example", "\N{LATIN SMALL LETTER LONG S}am@example.com"):
            with pytest.raises(TokenRefused):
                await find_external_principal(store, a_claim(email=email), NOW)

    async def test_after_unbinding_the_next_token_binds_again(self, store: SqlStore) -> None:
        await find_external_principal(store, a_claim(), NOW)
        assert await store.unbind_external_accounts(ANNA.id) == 1
        assert (await find_external_principal(store, a_claim(subject="new"), NOW)).user_id == ANNA.id
        with pytest.raises(TokenRefused):
            await find_external_principal(store, a_claim(), NOW)

    async def test_the_binding_ends_with_the_user(self, store: SqlStore) -> None:
        await find_external_principal(store, a_claim(email=BRUNO.email), NOW)
        await store.delete_user(BRUNO.id)
        assert (await find_external_principal(store, a_claim(), NOW)).user_id == ANNA.id
