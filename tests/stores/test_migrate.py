"""Creating and upgrading a database."""

import asyncio
from pathlib import Path

import msgspec
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect, text

import domogate.stores
from domogate.domain.people import Client, Grant, GrantType, User
from domogate.domain.plants import Invitation
from domogate.domain.states import Reading, Report, Unit
from domogate.ports import LogbookFilter, StoredState, UnnamedDrivers
from domogate.stores import DatabaseTooNew, SqlStore, sqlite_url
from domogate.stores.migrate import find_revision, upgrade
from domogate.stores.opening import open_database
from domogate.stores.revisions import HEAD
from domogate.stores.subject import writes
from domogate.stores.tables.all_tables import metadata
from support.clocks import NOW, ManualClock
from support.log_lines import capture_logs
from support.stores import ANNA, GRANT, HOUSE, KEY, LAMP, LAMP_IS_ON, PLUG, SMALL, OpenStore, a_code, a_grant, an_id


def check_tables(url: str) -> None:
    """The database has exactly the tables of the code."""
    database = open_database(url)
    try:
        with database.reading.connect() as connection:
            # Alembic does not know that only PostgreSQL has this index.
            absent = {"ix_changes_plant_id_cursor"} if connection.dialect.name == "sqlite" else set()
            options = {"include_object": lambda _item, name, *_: name not in absent}
            assert compare_metadata(MigrationContext.configure(connection, opts=options), metadata) == []
            assert absent.isdisjoint(index["name"] for index in inspect(connection).get_indexes("changes"))
            assert find_revision(connection) == HEAD
    finally:
        database.close()


class TestMigrations:
    async def test_an_empty_database_gets_exactly_the_tables_of_the_code(
        self, open_store: OpenStore, empty_database_url: str
    ) -> None:
        await open_store(empty_database_url)
        check_tables(empty_database_url)

    def test_the_head_named_in_the_code_is_the_newest_script(self) -> None:
        scripts = ScriptDirectory(str(Path(domogate.stores.__file__).parent / "migrations"))
        assert scripts.get_current_head() == HEAD

    async def test_a_second_start_keeps_everything(self, open_store: OpenStore, empty_database_url: str) -> None:
        first = await open_store(empty_database_url)
        await first.import_estate(SMALL, prune=False)
        exported = await first.export_estate()
        await first.stop()
        second = await open_store(empty_database_url)
        assert await second.export_estate() == exported

    async def test_processes_that_start_together_take_turns(self, open_store: OpenStore, empty_database_url: str) -> None:
        stores = await asyncio.gather(*(open_store(empty_database_url) for _ in range(4)))
        await asyncio.gather(*(store.list_users() for store in stores))


FIRST_REVISION = "0001"
FIRST_DATA = """
INSERT INTO users (id, email, email_key, name, password_hash, standing)
    VALUES ('{anna}', 'Anna@example.com', 'anna@example.com', 'Anna', 'hash of Anna', 'good');
INSERT INTO clients (id, name, secret_hash, redirect_uris, origins, grants, scopes, access_token_everywhere)
    VALUES ('app', 'An app', 'hash of a secret', '["https://app.example/back"]', '[]', '["implicit"]', '["a"]', {yes});
INSERT INTO grants (id, user_id, client_id, scopes, flow, created_at, revoked_at)
    VALUES ('{grant}', '{anna}', 'app', '["a"]', 'implicit', 5.5, NULL);
INSERT INTO subscriptions (id, name, key_hash, hint, created_at) VALUES ('{key}', 'a key', 'hash of a key', 'abcd', 1.0);
INSERT INTO usages (subscription_id, day, count) VALUES ('{key}', '2026-11-15', 7);
INSERT INTO signing_keys (kid, algorithm, jwk, created_at) VALUES ('k', 'ES256', '{{}}', 1.0);
INSERT INTO plants (id, internal_id, name, type, status, marked_as_site)
    VALUES ('{plant}', '{internal}', 'Casa Bianchi', 'house', 'active', {yes});
INSERT INTO members (plant_id, user_id, owner, position) VALUES ('{plant}', '{anna}', {yes}, 0);
INSERT INTO invitations (plant_id, email_key, email, position) VALUES ('{plant}', 'c@example.com', 'C@example.com', 0);
INSERT INTO modules (id, plant_id, position, internal_id, name, kind, driver, options)
    VALUES ('{plug}', '{plant}', 0, '{plug}', 'Plug', 'plug', 'simulator', '{{}}');
INSERT INTO modules (id, plant_id, position, internal_id, name, kind, driver, options)
    VALUES ('{lamp}', '{plant}', 1, '{lamp}', 'Lamp', 'light', 'simulator', '{{}}');
INSERT INTO states (module_id, state, reachable, at) VALUES ('{lamp}', '{{"of":"light","on":true,"level":40}}', {yes}, 7.5);
INSERT INTO states (module_id, state, reachable, at) VALUES ('{plug}', NULL, {no}, 8.5);
INSERT INTO readings (module_id, at, measure, value, unit) VALUES ('{plug}', 1800000000.25, 'power', 61.5, 'watt');
INSERT INTO readings (module_id, at, measure, value, unit) VALUES ('{plug}', 1800003600.0, 'power', 0.0, 'watt');
INSERT INTO readings (module_id, at, measure, value, unit) VALUES ('{plug}', 1800003600.0, 'energy', 7.0, 'watt_hour');
INSERT INTO readings (module_id, at, measure, value, unit) VALUES ('{plug}', 1800007199.9999, 'energy', 8.0, 'watt_hour');
INSERT INTO readings (module_id, at, measure, value, unit) VALUES ('{lamp}', 0.0, 'power', 5.0, 'watt');
INSERT INTO readings (module_id, at, measure, value, unit) VALUES ('{lamp}', 1e300, 'power', 6.0, 'watt');
INSERT INTO changes (cursor, at, plant_id, event) VALUES (41, 1.0, NULL, '{{"was":"user","user_id":"{anna}"}}')
"""


def make_first_database(url: str) -> None:
    """A database of the first revision. Its data is written by hand, so that it does not depend on today's code."""
    database = open_database(url)
    yes, no = ("1", "0") if url.startswith("sqlite") else ("true", "false")
    ids = {
        "lamp": LAMP.id,
        "plug": PLUG.id,
        "anna": ANNA.id,
        "grant": GRANT.id,
        "key": KEY.id,
        "plant": HOUSE.id,
        "internal": HOUSE.internal_id,
    }
    try:
        with database.writing.begin() as connection:
            upgrade(connection, FIRST_REVISION)
            for statement in FIRST_DATA.format(yes=yes, no=no, **ids).split(";"):
                connection.exec_driver_sql(statement)
    finally:
        database.close()


LOGBOOK = """
INSERT INTO logbook (plant_id, at, kind, module_id, module, words, "by")
    VALUES ('{plant}', 1.0, 'failure', '{lamp}', 'Lamp', '', '');
INSERT INTO logbook (plant_id, at, kind, module_id, module, words, "by")
    VALUES ('{plant}', 2.0, 'note', '{lamp}', 'Lamp', 'x', 'Eva')
"""


class TestNamedDrivers:
    async def test_modules_of_an_earlier_version_have_no_named_driver_until_they_are_imported(
        self, open_store: OpenStore, empty_database_url: str
    ) -> None:
        make_first_database(empty_database_url)
        store = await open_store(empty_database_url)
        assert await store.find_unnamed_drivers() == UnnamedDrivers(2, "Casa Bianchi", "Lamp", LAMP.id)
        await store.import_estate(await store.export_estate(), prune=False)
        assert await store.find_unnamed_drivers() is None

    async def test_entries_that_a_simulated_device_reported_are_marked(
        self, open_store: OpenStore, empty_database_url: str
    ) -> None:
        make_first_database(empty_database_url)
        database = open_database(empty_database_url)
        try:
            with database.writing.begin() as connection:
                upgrade(connection, "0011")
                for statement in LOGBOOK.format(plant=HOUSE.id, lamp=LAMP.id).split(";"):
                    connection.exec_driver_sql(statement)
        finally:
            database.close()
        store = await open_store(empty_database_url)
        entries = await store.list_logbook(HOUSE.id, LogbookFilter(), 10)
        assert [(one.entry.kind, one.entry.simulated) for one in entries] == [("failure", True), ("note", False)]


class TestUpgrade:
    async def test_it_is_logged_in_one_line_and_a_new_database_is_not(
        self, open_store: OpenStore, empty_database_url: str, tmp_path: Path
    ) -> None:
        make_first_database(empty_database_url)
        with capture_logs() as lines:
            await open_store(empty_database_url)
            await open_store(sqlite_url(tmp_path / "new.sqlite3"))
        upgraded = [line for line in lines if line["event"] == "upgraded the database"]
        assert [(line["from_revision"], line["to_revision"]) for line in upgraded] == [("0001", HEAD)]

    async def test_a_database_of_the_first_revision_keeps_all_it_holds(
        self, open_store: OpenStore, empty_database_url: str
    ) -> None:
        make_first_database(empty_database_url)
        store = await open_store(empty_database_url)
        client = Client(
            "app",
            "An app",
            "hash of a secret",
            ("https://app.example/back",),
            grants=(GrantType.IMPLICIT,),
            scopes=("a",),
            access_token_everywhere=True,
        )
        grant = Grant(GRANT.id, ANNA.id, "app", ("a",), GrantType.IMPLICIT, 5.5)
        assert await store.list_users() == [ANNA]
        assert await store.list_clients() == [client]
        assert await store.list_grants(ANNA.id) == [grant]
        assert await store.find_usage(KEY.id, "2026-11-15") == 7
        assert [key.kid for key in await store.list_signing_keys()] == ["k"]
        (plant,) = await store.list_plants(None, 10)
        assert (plant.name, plant.owner, plant.invited) == ("Casa Bianchi", HOUSE.owner, (Invitation("C@example.com"),))
        assert await store.newest_cursor() == 41
        stored = await store.find_plant(HOUSE.id)
        assert stored is not None
        assert stored.states == {
            LAMP.id: StoredState(LAMP_IS_ON, True, 7.5),
            PLUG.id: StoredState(None, False, 8.5),
        }

    async def test_readings_are_the_same_to_the_millisecond(self, open_store: OpenStore, empty_database_url: str) -> None:
        make_first_database(empty_database_url)
        store = await open_store(empty_database_url)
        await store.summarise_readings(0)
        assert await store.list_readings(PLUG.id, 0, 2 * NOW, 10) == [
            ("power", Reading(61.5, Unit.WATT, NOW + 0.25)),
            ("energy", Reading(7.0, Unit.WATT_HOUR, NOW + 3600)),
            ("power", Reading(0.0, Unit.WATT, NOW + 3600)),
            ("energy", Reading(8.0, Unit.WATT_HOUR, NOW + 7200)),
        ]
        # Only a reading with an impossible time is lost.
        assert await store.list_readings(LAMP.id, 0, 1e301, 10) == [("power", Reading(5.0, Unit.WATT, 0.0))]
        more = Reading(9.0, Unit.WATT_HOUR, NOW + 7200)
        await store.record([Report(HOUSE.id, PLUG.id, NOW, readings=(("energy", more),))])
        await store.summarise_readings(NOW + 9000)
        found = await store.list_summaries(PLUG.id, NOW, 2 * NOW, 3600.0, 10)
        assert [(each.measure, each.at - NOW, each.last) for each in found] == [
            ("power", 0.0, 61.5),
            ("energy", 3600.0, 7.0),
            ("power", 3600.0, 0.0),
            ("energy", 7200.0, 9.0),
        ]
        assert await store.list_readings(PLUG.id, NOW, 2 * NOW, 10) == [("energy", more)]

    async def test_it_is_then_as_good_as_a_new_one(self, open_store: OpenStore, empty_database_url: str) -> None:
        make_first_database(empty_database_url)
        store = await open_store(empty_database_url)
        check_tables(empty_database_url)
        grant = a_grant(60)
        await store.add_code(grant, a_code(grant))
        redeemed = await store.redeem_code("hash of code", NOW)
        assert redeemed is not None
        assert redeemed.first
        await store.save_user(msgspec.structs.replace(ANNA, operator=True))
        assert await store.delete_client("app")

    async def test_webhooks_get_the_scopes_of_their_grants(self, open_store: OpenStore, empty_database_url: str) -> None:
        make_first_database(empty_database_url)
        database = open_database(empty_database_url)
        columns = (
            "id, client_id, user_id, grant_id, plant_id, url, secret, kinds, form, created_at, position, failures, next_at,"
            "problem, ended_why, holder, held_until"
        )
        try:
            with database.writing.begin() as connection:
                upgrade(connection, "0005")
                for number, grant_id in ((1, GRANT.id), (2, an_id(404))):
                    connection.exec_driver_sql(
                        f"INSERT INTO webhooks ({columns}) VALUES ('{an_id(number)}', 'app', '{ANNA.id}', '{grant_id}', "
                        f"'{HOUSE.id}', 'https://x.test/{number}', '', '[]', 'cloudevents', {number}, 1, 0, 0, '', '', '', 0)"
                    )
        finally:
            database.close()
        store = await open_store(empty_database_url)
        assert [webhook.scopes for webhook in await store.list_webhooks()] == [("a",), ()]
        stored = await store.find_plant(HOUSE.id)
        assert stored is not None
        assert stored.joined == {ANNA.id: 0}

    async def test_emails_that_were_folded_become_different(self, open_store: OpenStore, empty_database_url: str) -> None:
        make_first_database(empty_database_url)
        database = open_database(empty_database_url)
        with database.writing.begin() as connection:
            for table in ("users", "invitations"):
                connection.exec_driver_sql(f"UPDATE {table} SET email = '\u017fam@example.com', email_key = 'sam@example.com'")
        database.close()
        store = await open_store(empty_database_url)
        assert await store.find_user_by_email("sam@example.com") is None
        found = await store.find_user_by_email("\u017fAM@example.com")
        assert found is not None
        assert found.id == ANNA.id
        await store.save_user(User(an_id(99), "sam@example.com", password_hash="hash"))
        assert [plant.name for plant in (await store.list_plants_of(an_id(99)))[0]] == []

    @pytest.mark.parametrize("composed_is_active", [True, False])
    async def test_two_users_with_one_address_stay_and_one_of_them_gets_it(
        self, open_store: OpenStore, empty_database_url: str, composed_is_active: bool
    ) -> None:
        """Keys were not normalised before, so an address could have two accounts: with é, and with e and an accent."""
        make_first_database(empty_database_url)
        spellings = ("jos\u00e9@example.com", "jose\u0301@example.com")
        ids = (an_id(98), an_id(99))
        database = open_database(empty_database_url)
        with database.writing.begin() as connection:
            for user_id, email, active in zip(ids, spellings, (composed_is_active, not composed_is_active), strict=True):
                password_hash = "'hash'" if active else "NULL"
                connection.exec_driver_sql(
                    "INSERT INTO users (id, email, email_key, name, password_hash, standing) "
                    f"VALUES ('{user_id}', '{email}', '{email}', 'Jose', {password_hash}, 'good')"
                )
                invited = email.replace("jos", "ren")
                connection.exec_driver_sql(
                    "INSERT INTO invitations (plant_id, email_key, email, position) "
                    f"VALUES ('{HOUSE.id}', '{invited}', '{invited}', 1)"
                )
        database.close()
        store = await open_store(empty_database_url)
        keeps, other = ids if composed_is_active else reversed(ids)
        for spelling in spellings:
            found = await store.find_user_by_email(spelling)
            assert found is not None
            assert found.id == keeps
        renamed = await store.find_user(other)
        assert renamed is not None
        assert (renamed.email, renamed.name) == (f"{other}@duplicate.invalid", "Jose")
        await store.save_user(renamed)
        exported = await store.export_estate()
        await store.import_estate(exported, prune=True)
        assert await store.export_estate() == exported
        assert [one.email for one in exported.plants[0].plant.invited] == ["C@example.com", "ren\u00e9@example.com"]

    async def test_processes_that_upgrade_together_take_turns(self, open_store: OpenStore, empty_database_url: str) -> None:
        make_first_database(empty_database_url)
        stores = await asyncio.gather(*(open_store(empty_database_url) for _ in range(3)))
        assert [len(await store.list_users()) for store in stores] == [1, 1, 1]


class TestNewerDatabase:
    async def test_it_stops_the_start_and_says_why(self, open_store: OpenStore, empty_database_url: str) -> None:
        store = await open_store(empty_database_url)
        await writes(lambda tx: tx.connection.execute(text("UPDATE alembic_version SET version_num = '9999'")))(store)
        await store.stop()
        newer = SqlStore(empty_database_url, clock=ManualClock())
        with pytest.raises(DatabaseTooNew, match=r"9999.*newer version"):
            await newer.start()
        with pytest.raises(RuntimeError, match="not running"):
            await newer.list_users()
