"""The estate file over the management API: export, check, difference, import, and the history of imports."""

import asyncio
import random
from base64 import b64encode
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from domogate.domain.estate import Estate
from domogate.domain.people import User
from domogate.estate import read_estate
from support.management_setup import ManagementApi, open_api
from support.stores import an_id

pytestmark = pytest.mark.slow

MODULE_ID = an_id(900)
NEW_PLANT = f"""\
users:
  - {{email: olga@example.com, name: Olga, operator: true}}
  - {{email: nina@example.com, password: nina-paints-the-wall}}
plants:
  - id: {an_id(901)}
    name: Villa
    type: house
    owner: nina@example.com
    driver: simulator
    modules:
      - {{id: {MODULE_ID}, name: Lamp, kind: light}}
"""


PRESENT = f"""\
users:
  - {{email: olga@example.com, name: Olga, operator: true}}
  - {{email: anna@example.com, name: Anna}}
clients:
  - {{id: console, name: Console, scopes: [gateway.manage], redirectUris: ["https://console.example/back"]}}
subscriptions:
  - {{name: App, key: a-key-of-16-or-more}}
plants:
  - id: {an_id(910)}
    name: House
    type: house
    owner: anna@example.com
    driver: simulator
    modules:
      - {{id: {an_id(911)}, name: Lamp, kind: light}}
"""


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[ManagementApi]:
    """The API of a gateway whose content is a correct estate."""
    async with open_api(tmp_path) as opened:
        estate = read_estate(PRESENT, "present").estate
        await opened.env.store.import_estate(estate, prune=True)
        yield opened


async def exported(api: ManagementApi) -> str:
    answer = await api.send("GET", "/estate")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/yaml")
    assert answer.headers["cache-control"] == "no-store"
    return answer.text


def counts(summary: dict[str, Any], change: str) -> dict[str, int]:
    return {noun: count for noun, count in summary[change].items() if count}


class TestExport:
    async def test_it_can_be_read_and_imports_without_a_change(self, api: ManagementApi) -> None:
        text = await exported(api)
        assert read_estate(text, "export").estate.plants[0].plant.id == an_id(910)
        summary = await api.ok("POST", "/estate/import", {"document": text, "prune": True})
        assert [counts(summary, change) for change in ("added", "updated", "removed")] == [{}, {}, {}]

    async def test_it_has_neither_password_hashes_nor_second_factors(self, api: ManagementApi) -> None:
        await api.env.store.save_user(User(an_id(902), "sec@example.com", "", "hash of y", totp_secret="JBSWY3DPEHPK3PXP"))
        text = await exported(api)
        assert "sec@example.com" in text
        assert "JBSWY3DPEHPK3PXP" not in text
        assert "hash of" not in text
        await api.ok("POST", "/estate/import", {"document": text, "prune": True})
        kept = await api.env.store.find_user(an_id(902))
        assert kept is not None
        assert kept.totp_secret == "JBSWY3DPEHPK3PXP"
        assert kept.password_hash == "hash of y"
        assert (await api.ok("GET", "/audit?action=estate%20exported"))["items"]

    async def test_the_schema_is_for_editors(self, api: ManagementApi) -> None:
        answer = await api.send("GET", "/estate/schema")
        assert answer.headers["content-type"] == "application/schema+json"
        assert "plants" in answer.json()["properties"]


class TestCheck:
    async def test_mistakes_have_their_place_and_the_allowed_values(self, api: ManagementApi) -> None:
        document = NEW_PLANT.replace("type: house", "type: castle")
        found = await api.ok("POST", "/estate/check", {"document": document})
        assert found["total"] == 1
        (problem,) = found["problems"]
        assert (problem["line"], problem["path"]) == (7, "plants[0].type")
        assert "castle" in problem["problem"]
        assert "house" in problem["allowed"]

    async def test_a_correct_document_has_none_and_changes_nothing(self, api: ManagementApi) -> None:
        before = await exported(api)
        assert await api.ok("POST", "/estate/check", {"document": NEW_PLANT}) == {"problems": [], "total": 0}
        assert await exported(api) == before

    async def test_options_are_checked_by_the_driver(self, api: ManagementApi) -> None:
        document = NEW_PLANT.replace("kind: light}", "kind: light, options: {travel: 3}}")
        (problem,) = (await api.ok("POST", "/estate/check", {"document": document}))["problems"]
        assert "no such option" in problem["problem"]

    async def test_the_list_is_bounded_and_says_how_many_there_are(self, api: ManagementApi) -> None:
        found = await api.ok("POST", "/estate/check", {"document": "users:\n" + "  - {pasword: x}\n" * 300})
        assert len(found["problems"]) == 200
        assert found["total"] > 300

    async def test_larger_than_other_bodies_but_bounded(self, api: ManagementApi) -> None:
        large = NEW_PLANT + "# comment\n" * 20_000
        assert (await api.ok("POST", "/estate/check", {"document": large}))["total"] == 0
        await api.refused("POST", "/estate/check", {"document": "#" * (4 * 1024 * 1024 + 1)}, status=400)
        await api.refused("POST", "/estate/check", {"document": "#" * (9 * 1024 * 1024)}, status=413)

    @pytest.mark.parametrize("document", ["", "[", "\t", "&a *a", "a: &x [*x]", "users: 3", "plants:\n  - &a {}\n  - *a\n"])
    async def test_any_text_gets_an_answer(self, api: ManagementApi, document: str) -> None:
        await api.ok("POST", "/estate/check", {"document": document})

    async def test_checks_at_the_same_time_all_get_their_answer(self, api: ManagementApi) -> None:
        answers = await asyncio.gather(*(api.ok("POST", "/estate/check", {"document": NEW_PLANT}) for _ in range(5)))
        assert all(answer["total"] == 0 for answer in answers)


class TestDifference:
    async def test_what_would_be_added_updated_and_removed(self, api: ManagementApi) -> None:
        text = (await exported(api)).replace("name: Lamp", "name: Ceiling lamp", 1)
        found = await api.ok("POST", "/estate/difference", {"document": text})
        assert counts(found, "updated") == {"modules": 1}
        assert found["changes"] == [
            {"noun": "modules", "change": "updated", "id": an_id(911), "name": "Ceiling lamp", "fields": ["name"]}
        ]
        found = await api.ok("POST", "/estate/difference", {"document": NEW_PLANT, "prune": True})
        assert counts(found, "added") == {"users": 1, "plants": 1, "modules": 1}
        assert found["removed"]["plants"] >= 1
        assert found["removed"]["users"] >= 1
        named = {(one["noun"], one["change"], one["name"]) for one in found["changes"]}
        assert {
            ("plants", "removed", "House"),
            ("users", "removed", "anna@example.com"),
            ("users", "added", "nina@example.com"),
        } <= named

    async def test_it_changes_nothing_and_says_what_the_import_does(self, api: ManagementApi) -> None:
        before = await exported(api)
        found = await api.ok("POST", "/estate/difference", {"document": NEW_PLANT})
        assert await exported(api) == before
        summary = await api.ok("POST", "/estate/import", {"document": NEW_PLANT})
        assert summary == {key: found[key] for key in ("added", "updated", "removed")}

    async def test_a_change_of_people_is_shown_as_a_change_of_the_plant(self, api: ManagementApi) -> None:
        await api.ok("POST", "/estate/import", {"document": NEW_PLANT})
        changed = NEW_PLANT.replace("owner: nina@example.com", "owner: olga@example.com")
        found = await api.ok("POST", "/estate/difference", {"document": changed})
        assert [(one["name"], one["fields"]) for one in found["changes"] if one["noun"] == "plants"] == [("Villa", ["people"])]

    async def test_the_names_are_bounded(self, api: ManagementApi) -> None:
        users = "".join(f"  - {{email: u{number}@example.com}}\n" for number in range(150))
        found = await api.ok("POST", "/estate/difference", {"document": f"users:\n{users}"})
        assert found["added"]["users"] == 150
        assert len(found["changes"]) == 100


class TestImport:
    async def test_a_document_is_imported_and_noted(self, api: ManagementApi) -> None:
        summary = await api.ok("POST", "/estate/import", {"document": NEW_PLANT})
        assert counts(summary, "added") == {"users": 1, "plants": 1, "modules": 1}
        assert (await api.ok("GET", f"/plants/{an_id(901)}"))["owner"]["email"] == "nina@example.com"
        (record,) = (await api.ok("GET", "/audit?action=estate%20imported"))["items"]
        assert record["who"].startswith("user:")
        assert record["detail"] == {"prune": "no"}

    async def test_mistakes_are_refused_with_their_lines(self, api: ManagementApi) -> None:
        before = await exported(api)
        bad = NEW_PLANT.replace("kind: light", "kind: lamp")
        assert "line 11:" in await api.refused("POST", "/estate/import", {"document": bad}, status=422)
        assert "line 11:" in await api.refused("POST", "/estate/difference", {"document": bad}, status=422)
        assert await exported(api) == before
        assert (await api.ok("GET", "/estate/imports"))["items"] == []

    async def test_pruning_does_not_remove_the_operator_who_imports(self, api: ManagementApi) -> None:
        document = NEW_PLANT.replace("  - {email: olga@example.com, name: Olga, operator: true}\n", "")
        for path in ("/estate/import", "/estate/difference"):
            assert "your own account" in await api.refused("POST", path, {"document": document, "prune": True}, status=409)

    async def test_a_document_that_contradicts_the_store_is_refused(self, api: ManagementApi) -> None:
        (anna,) = (await api.ok("GET", "/users?email=anna@example.com"))["items"]
        document = f"users:\n  - {{email: olga@example.com, id: {anna['id']}}}\n"
        for path in ("/estate/import", "/estate/difference"):
            assert "olga@example.com" in await api.refused("POST", path, {"document": document}, status=409)


class TestHistory:
    async def test_imports_with_their_documents(self, api: ManagementApi) -> None:
        await api.ok("POST", "/estate/import", {"document": NEW_PLANT})
        await api.ok("POST", "/estate/import", {"document": NEW_PLANT.replace("Villa", "Villa Nina")})
        first = await api.ok("GET", "/estate/imports?limit=1")
        (newest,) = first["items"]
        assert (newest["email"], newest["userId"], newest["prune"]) == ("olga@example.com", api.operator.id, False)
        assert newest["hasDocument"]
        assert counts(newest, "updated") == {"plants": 1}
        rest = await api.ok("GET", f"/estate/imports?limit=1&after={first['next']}")
        (oldest,) = rest["items"]
        assert counts(oldest, "added") == {"users": 1, "plants": 1, "modules": 1}
        assert rest["next"] is None
        document = (await api.send("GET", f"/estate/imports/{oldest['number']}")).text
        assert "nina-paints-the-wall" not in document
        assert "hash of" not in document
        found = await api.ok("POST", "/estate/difference", {"document": document})
        assert [(one["name"], one["fields"]) for one in found["changes"]] == [("Villa", ["name"])]
        for number in ("404", "x", "-1", "9" * 30):
            await api.refused("GET", f"/estate/imports/{number}", status=404)

    async def test_only_the_last_documents_are_kept(self, api: ManagementApi) -> None:
        for _ in range(21):
            await api.ok("POST", "/estate/import", {"document": NEW_PLANT})
        items = (await api.ok("GET", "/estate/imports"))["items"]
        assert [one["hasDocument"] for one in items] == [True] * 20 + [False]

    async def test_the_documents_are_bounded_together(self, api: ManagementApi) -> None:
        generator = random.Random(1)
        summary = (await api.env.store.find_difference(Estate(), prune=False, most=0)).summary
        for _ in range(3):
            text = b64encode(generator.randbytes(1_875_000)).decode()  # 2,500,000 letters that cannot be compressed much
            await api.env.store.add_import(None, summary, prune=False, document=text)
        assert [one["hasDocument"] for one in (await api.ok("GET", "/estate/imports"))["items"]] == [True, True, False]

    async def test_a_document_that_names_a_deleted_user_is_removed(self, api: ManagementApi) -> None:
        await api.ok("POST", "/estate/import", {"document": "users: [{email: gone@example.com}]\n"})
        await api.ok("POST", "/estate/import", {"document": "users: [{email: stays@example.com}]\n"})
        (gone,) = (await api.ok("GET", "/users?email=gone@example.com"))["items"]
        await api.ok("DELETE", f"/users/{gone['id']}", status=204)
        assert [one["hasDocument"] for one in (await api.ok("GET", "/estate/imports"))["items"]] == [True, False]
