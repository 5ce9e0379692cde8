"""People who accepted a former text of the terms are asked again."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from domogate.domain.people import Standing
from domogate.domain.terms import terms_at, terms_from_text
from support.people_setup import PeopleSetup, open_people
from support.stores import ANNA, BRUNO


@pytest.fixture
async def env(tmp_path: Path) -> AsyncIterator[PeopleSetup]:
    async with open_people(tmp_path) as opened:
        yield opened


class TestChangedTerms:
    @pytest.mark.parametrize(
        ("before", "after"),
        [(Standing.GOOD, Standing.TERMS_EXPIRED), (Standing.PASSWORD_EXPIRED, Standing.BOTH_EXPIRED)],
    )
    async def test_a_person_who_accepted_the_former_text_is_asked_once(
        self, env: PeopleSetup, before: Standing, after: Standing
    ) -> None:
        await env.people.accept_terms(ANNA.id, "former")
        await env.people.set_standing(ANNA.id, before)
        assert await env.people.ask_for_changed_terms("former") == 0
        assert await env.people.ask_for_changed_terms("new") == 1
        assert (await env.user(ANNA.id)).standing is after
        assert await env.people.ask_for_changed_terms("new") == 0
        accepted = await env.people.accept_terms(ANNA.id, "new")
        assert accepted.standing is before
        assert await env.people.ask_for_changed_terms("new") == 0

    async def test_a_person_who_never_accepted_terms_is_not_asked(self, env: PeopleSetup) -> None:
        await env.people.set_standing(BRUNO.id, Standing.GOOD)
        assert await env.people.ask_for_changed_terms("new") == 0
        assert (await env.user(BRUNO.id)).standing is Standing.GOOD

    async def test_an_operator_can_waive_the_terms(self, env: PeopleSetup) -> None:
        await env.people.accept_terms(ANNA.id, "former")
        await env.people.ask_for_changed_terms("new")
        await env.people.set_standing(ANNA.id, Standing.GOOD)
        assert await env.people.ask_for_changed_terms("new") == 0
        assert (await env.user(ANNA.id)).standing is Standing.GOOD

    async def test_the_audit_log_has_the_accepted_version_and_the_number_of_people(self, env: PeopleSetup) -> None:
        await env.people.accept_terms(ANNA.id, "former")
        await env.people.ask_for_changed_terms("new")
        await env.audit.flush()
        details = [dict(record.entry.detail) for record in await env.audit.list(limit=10)]
        assert details == [{"version": "former"}, {"terms": "new", "users": "1"}]

    async def test_an_import_keeps_the_accepted_version(self, env: PeopleSetup) -> None:
        exported = await env.store.export_estate()
        await env.people.accept_terms(ANNA.id, "former")
        await env.people.set_language(ANNA.id, "it")
        await env.store.import_estate(exported, prune=True)
        user = await env.user(ANNA.id)
        assert (user.terms_version, user.language) == ("former", "it")


class TestVersions:
    def test_another_text_is_another_version_and_line_ends_are_not(self) -> None:
        text = terms_from_text("One\n\nTwo\n")
        assert text.version == terms_from_text("One\r\n\r\nTwo").version
        assert text.version != terms_from_text("One\n\nThree\n").version

    def test_another_address_is_another_version(self) -> None:
        assert terms_at("https://terms.example/1").version != terms_at("https://terms.example/2").version
