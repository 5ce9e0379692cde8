"""Links, and what is removed when it is over: codes, tokens, grants, users and clients."""

import msgspec
import pytest

from domogate.domain.authorization import (
    LinkPurpose,
    OneTimeLink,
)
from domogate.domain.events import ClientChanged, GrantRevoked, UserChanged
from domogate.domain.people import Client
from domogate.stores import SqlStore, authorization
from support.clocks import NOW
from support.stores import (
    ANNA,
    APP,
    BRUNO,
    CARLA,
    a_code,
    a_grant,
    a_refresh_token,
    a_session,
    an_id,
    record_changes,
)

GRANT = a_grant(50)
CODE = a_code(GRANT)
FIRST = a_refresh_token(GRANT, "first")


class TestLinks:
    LINK = OneTimeLink("hash of link", CARLA.id, LinkPurpose.PASSWORD, NOW + 100)

    async def test_one_is_seen_often_and_taken_once(self, filled_store: SqlStore) -> None:
        await filled_store.add_link(self.LINK)
        assert await filled_store.find_link(self.LINK.token_hash) == self.LINK
        assert await filled_store.take_link(self.LINK.token_hash) == self.LINK
        assert await filled_store.take_link(self.LINK.token_hash) is None
        assert await filled_store.find_link(self.LINK.token_hash) is None

    @pytest.mark.parametrize("earlier", [LinkPurpose.PASSWORD, LinkPurpose.OPERATOR])
    @pytest.mark.parametrize("later", [LinkPurpose.PASSWORD, LinkPurpose.OPERATOR])
    async def test_a_newer_one_that_sets_a_password_takes_the_place_of_every_earlier_one(
        self, filled_store: SqlStore, earlier: LinkPurpose, later: LinkPurpose
    ) -> None:
        first = msgspec.structs.replace(self.LINK, purpose=earlier)
        newer = OneTimeLink("hash of newer", CARLA.id, later, NOW + 100)
        of_bruno = OneTimeLink("hash of Bruno's", BRUNO.id, LinkPurpose.PASSWORD, NOW + 100)
        of_email = OneTimeLink("hash for an address", CARLA.id, LinkPurpose.EMAIL, NOW + 100, "carla@new.example")
        for link in (first, of_bruno, of_email, newer):
            await filled_store.add_link(link)
        assert await filled_store.take_link(first.token_hash) is None
        for link in (of_bruno, of_email, newer):
            assert await filled_store.take_link(link.token_hash) == link

    async def test_a_newer_one_for_an_address_takes_the_place_of_the_earlier_one_for_an_address(
        self, filled_store: SqlStore
    ) -> None:
        first = OneTimeLink("hash for an address", CARLA.id, LinkPurpose.EMAIL, NOW + 100, "carla@new.example")
        newer = msgspec.structs.replace(first, token_hash="hash of newer")
        for link in (self.LINK, first, newer):
            await filled_store.add_link(link)
        assert await filled_store.take_link(first.token_hash) is None
        for link in (self.LINK, newer):
            assert await filled_store.take_link(link.token_hash) == link

    async def test_it_needs_its_user(self, filled_store: SqlStore) -> None:
        with pytest.raises(ValueError, match="there is no user"):
            await filled_store.add_link(msgspec.structs.replace(self.LINK, user_id=an_id(404)))


class TestForgetting:
    async def test_what_has_expired_goes_and_what_could_be_presented_again_stays_an_hour(self, filled_store: SqlStore) -> None:
        await filled_store.add_code(GRANT, CODE)
        await filled_store.redeem_code(CODE.code_hash, NOW)
        await filled_store.add_refresh_token(a_refresh_token(GRANT, "short", expires_at=NOW + 60))
        await filled_store.add_refresh_token(FIRST)
        await filled_store.add_link(OneTimeLink("link", CARLA.id, LinkPurpose.PASSWORD, NOW + 60))
        await filled_store.add_session(a_session(70, expires_at=NOW + 60))
        await filled_store.add_session(a_session(71))
        await filled_store.prune_authorization(NOW + 59)
        assert await filled_store.find_link("link") is not None
        assert len(await filled_store.list_sessions(ANNA.id)) == 2
        await filled_store.prune_authorization(NOW + 60)
        assert await filled_store.find_link("link") is None
        assert await filled_store.list_sessions(ANNA.id) == [a_session(71)]
        await filled_store.prune_authorization(NOW + 60 + 3599)
        assert await filled_store.find_refresh_token("hash of short") is not None
        again = await filled_store.redeem_code(CODE.code_hash, NOW + 60 + 3599)
        assert again is not None
        assert not again.first
        await filled_store.prune_authorization(NOW + 60 + 3600)
        assert await filled_store.find_refresh_token("hash of short") is None
        assert await filled_store.find_refresh_token(FIRST.token_hash) == FIRST
        assert await filled_store.redeem_code(CODE.code_hash, NOW + 60 + 3600) is None
        assert await filled_store.find_grant(GRANT.id) is not None

    async def test_more_of_it_than_goes_at_once(self, filled_store: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(authorization, "PRUNE_CHUNK", 3)
        for number in range(7):
            await filled_store.add_session(a_session(70 + number, expires_at=NOW + number))
        await filled_store.prune_authorization(NOW + 5)
        assert await filled_store.list_sessions(ANNA.id) == [a_session(76, expires_at=NOW + 6)]


class TestDeletion:
    @pytest.fixture
    async def full(self, filled_store: SqlStore) -> SqlStore:
        """Bruno has one of everything, and Anna too."""
        for number, user in ((50, BRUNO), (60, ANNA)):
            grant = a_grant(number, user)
            await filled_store.add_code(grant, a_code(grant, user.name))
            await filled_store.add_refresh_token(a_refresh_token(grant, user.name))
            await filled_store.add_session(a_session(number, user))
            await filled_store.add_link(OneTimeLink(f"link of {user.name}", user.id, LinkPurpose.PASSWORD, NOW + 100))
            await filled_store.find_pseudonym(user.id)
        return filled_store

    async def test_a_user_s_sessions_codes_tokens_and_links_go_with_them(self, full: SqlStore) -> None:
        recorded = record_changes(full)
        assert await full.delete_user(BRUNO.id)
        assert recorded.events[1:] == [GrantRevoked(grant_id=an_id(50)), UserChanged(user_id=BRUNO.id)]
        assert await full.redeem_code("hash of Bruno", NOW) is None
        assert await full.find_refresh_token("hash of Bruno") is None
        assert await full.find_session("hash of cookie 50") is None
        assert await full.take_link("link of Bruno") is None
        assert await full.redeem_code("hash of Anna", NOW) is not None
        assert await full.find_refresh_token("hash of Anna") is not None
        assert await full.find_session("hash of cookie 60") is not None
        assert await full.take_link("link of Anna") is not None

    async def test_a_client_s_grants_codes_and_tokens_go_with_it(self, full: SqlStore) -> None:
        recorded = record_changes(full)
        assert await full.delete_client(APP.id)
        assert sorted(recorded.events, key=repr) == sorted(
            [GrantRevoked(grant_id=an_id(50)), GrantRevoked(grant_id=an_id(60)), ClientChanged(client_id=APP.id)], key=repr
        )
        assert await full.find_client(APP.id) is None
        for user in (ANNA, BRUNO):
            assert await full.list_grants(user.id) == []
            assert await full.redeem_code(f"hash of {user.name}", NOW) is None
            assert await full.find_refresh_token(f"hash of {user.name}") is None
        assert len(await full.list_sessions(ANNA.id)) == 1

    async def test_false_for_an_unknown_client(self, filled_store: SqlStore) -> None:
        await filled_store.save_client(Client("other", "Another"))
        assert not await filled_store.delete_client("nobody")
        assert len(await filled_store.list_clients()) == 2
