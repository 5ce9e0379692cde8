"""Login sessions."""

import msgspec

from domogate.stores import SqlStore
from support.clocks import NOW
from support.stores import ANNA, BRUNO, a_session, an_id


class TestSessions:
    async def test_one_is_found_by_what_the_browser_shows(self, filled_store: SqlStore) -> None:
        session = a_session(70, address="2001:db8::1", agent="Browser/1", factors=("pwd", "otp"))
        await filled_store.add_session(session)
        assert await filled_store.find_session(session.token_hash) == session
        assert await filled_store.find_session("hash of nothing") is None

    async def test_it_needs_its_user(self, filled_store: SqlStore) -> None:
        session = a_session(70, msgspec.structs.replace(ANNA, id=an_id(404)))
        assert not await filled_store.add_session(session)
        assert await filled_store.find_session(session.token_hash) is None

    async def test_saving_replaces_all_that_is_kept_of_it(self, filled_store: SqlStore) -> None:
        session = a_session(70)
        await filled_store.add_session(session)
        proved_again = msgspec.structs.replace(
            session, token_hash="another", auth_time=NOW + 9, seen_at=NOW + 9, expires_at=NOW + 99, factors=("pwd", "otp")
        )
        await filled_store.save_session(proved_again)
        assert await filled_store.find_session("another") == proved_again
        assert await filled_store.find_session(session.token_hash) is None

    async def test_one_that_was_ended_meanwhile_stays_ended(self, filled_store: SqlStore) -> None:
        session = a_session(70)
        await filled_store.add_session(session)
        assert await filled_store.end_session(session.id)
        await filled_store.save_session(msgspec.structs.replace(session, seen_at=NOW + 1))
        assert await filled_store.find_session(session.token_hash) is None
        assert not await filled_store.end_session(session.id)

    async def test_a_user_s_are_listed_the_one_used_last_first(self, filled_store: SqlStore) -> None:
        old, new, other = a_session(70), a_session(71, seen_at=NOW + 1), a_session(72, BRUNO)
        for session in (old, new, other):
            await filled_store.add_session(session)
        assert await filled_store.list_sessions(ANNA.id) == [new, old]
        assert await filled_store.list_sessions(an_id(404)) == []

    async def test_all_of_a_user_s_end_but_the_one_to_keep(self, filled_store: SqlStore) -> None:
        sessions = [a_session(70), a_session(71), a_session(72), a_session(73, BRUNO)]
        for session in sessions:
            await filled_store.add_session(session)
        assert await filled_store.end_sessions(ANNA.id, keep=sessions[1].id) == 2
        assert await filled_store.list_sessions(ANNA.id) == [sessions[1]]
        assert await filled_store.end_sessions(ANNA.id) == 1
        assert await filled_store.end_sessions(ANNA.id) == 0
        assert await filled_store.list_sessions(BRUNO.id) == [sessions[3]]

    async def test_another_user_s_session_cannot_be_kept(self, filled_store: SqlStore) -> None:
        mine, theirs = a_session(70), a_session(71, BRUNO)
        await filled_store.add_session(mine)
        await filled_store.add_session(theirs)
        assert await filled_store.end_sessions(ANNA.id, keep=theirs.id) == 1
        assert await filled_store.list_sessions(BRUNO.id) == [theirs]
