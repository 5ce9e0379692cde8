"""Secrets in the database: encrypted under a key that is not in it."""

import asyncio
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from sqlalchemy import Engine, event, text

from domogate.domain.people import User
from domogate.identity.secret_keys import KEY_FILE, SecretKeys
from domogate.ports import DriverConnection, SealBroken, SecretKeyMissing, SigningKey
from domogate.stores import SqlStore, find_key_of_backup, sqlite_url
from domogate.stores.subject import reads, writes
from support.clocks import NOW, ManualClock
from support.stores import ANNA, BRUNO, SMALL, OpenStore, a_webhook, an_id

SEED, JWK, SECRET = "JBSWY3DPEHPK3PXP", '{"kty":"EC","d":"a-private-number"}', "whsec_a2V5IG9mIGEgd2ViaG9vaw=="
SIGNING_KEY = SigningKey("kid", "ES256", JWK, NOW)
WEBHOOK = a_webhook(secret=SECRET)
BROKER_PASSWORD = "the-password-of-a-broker"
BROKER = DriverConnection("mqtt", "mqtt://broker.lan:1883", "gate", BROKER_PASSWORD)


async def fill(store: SqlStore) -> None:
    await store.import_estate(SMALL, prune=False)
    await store.save_user(msgspec.structs.replace(ANNA, totp_secret=SEED))
    await store.change_signing_keys(lambda _: [SIGNING_KEY])
    await store.add_webhook(WEBHOOK)
    await store.set_connection(BROKER)


async def read_all(store: SqlStore) -> tuple[str | None, str, str]:
    user, webhook = await store.find_user(ANNA.id), await store.find_webhook(WEBHOOK.id)
    assert user is not None
    assert webhook is not None
    assert [one.secret for one in await store.list_webhooks()] == [webhook.secret]
    assert user in await store.list_users()
    assert await store.list_connections() == [BROKER]
    (key,) = await store.list_signing_keys()
    return user.totp_secret, key.jwk, webhook.secret


async def stored_texts(store: SqlStore) -> list[str]:
    """The columns as they are in the database."""
    query = "SELECT totp_secret FROM users WHERE totp_secret IS NOT NULL UNION ALL SELECT jwk FROM signing_keys"
    query += " UNION ALL SELECT secret FROM webhooks UNION ALL SELECT password FROM driver_connections"
    return await reads(lambda on: list(on.execute(text(query)).scalars()))(store)


async def test_the_database_has_only_ciphertext(open_store: OpenStore, database_url: str, tmp_path: Path) -> None:
    store = await open_store(database_url, sealer=SecretKeys(tmp_path))
    await fill(store)
    assert await read_all(store) == (SEED, JWK, SECRET)
    key_id = await store.find_secret_key_id()
    texts = await stored_texts(store)
    assert len(texts) == 4
    assert all(one.startswith(f"sealed:1:{key_id}:") for one in texts)
    changed = "whsec_b3RoZXI="
    assert await store.set_webhook_secret(WEBHOOK.id, changed)
    assert await read_all(store) == (SEED, JWK, changed)
    assert changed not in await stored_texts(store)


async def test_plain_values_of_an_earlier_version_are_encrypted_at_the_first_start(
    open_store: OpenStore, empty_database_url: str, tmp_path: Path
) -> None:
    plain = await open_store(empty_database_url)
    await fill(plain)
    assert sorted(await stored_texts(plain)) == sorted((SEED, JWK, SECRET, BROKER_PASSWORD))
    await plain.stop()
    store = await open_store(empty_database_url, sealer=SecretKeys(tmp_path))
    assert await read_all(store) == (SEED, JWK, SECRET)
    assert not {SEED, JWK, SECRET, BROKER_PASSWORD} & set(await stored_texts(store))


@pytest.fixture
def leaves_freed_space() -> Iterator[None]:
    """Some builds of SQLite overwrite freed space by default, others do not."""

    def switch_off(connection: sqlite3.Connection, _record: object) -> None:
        connection.execute("PRAGMA secure_delete = OFF")

    event.listen(Engine, "connect", switch_off)
    yield
    event.remove(Engine, "connect", switch_off)


@pytest.mark.usefixtures("leaves_freed_space")
async def test_plain_values_do_not_stay_in_the_files(open_store: OpenStore, tmp_path: Path) -> None:
    url = sqlite_url(tmp_path / "domogate.db")
    plain = await open_store(url)
    await fill(plain)
    # Enough rows for several pages: SQLite uses the space of a single row again at once.
    seeds = [f"SEEDNUMBER{number:03}" for number in range(60)]
    for number, seed in enumerate(seeds):
        await plain.save_user(User(an_id(1_000 + number), f"{number}@example.com", totp_secret=seed))
    await plain.stop()
    assert SEED.encode() in (tmp_path / "domogate.db").read_bytes()
    await open_store(url, sealer=SecretKeys(tmp_path))
    for path in tmp_path.glob("domogate.db*"):
        content = path.read_bytes()
        assert not [secret for secret in (SEED, *seeds, "a-private-number", SECRET) if secret.encode() in content], path.name


class TestAnotherKey:
    async def test_the_store_does_not_start_and_says_which_key_it_needs(
        self, open_store: OpenStore, database_url: str, tmp_path: Path
    ) -> None:
        store = await open_store(database_url, sealer=SecretKeys(tmp_path))
        key_id = await store.find_secret_key_id()
        assert key_id is not None
        await store.stop()
        (tmp_path / KEY_FILE).unlink()
        with pytest.raises(SecretKeyMissing, match=key_id):
            await SqlStore(database_url, clock=ManualClock(), sealer=SecretKeys(tmp_path)).start()
        assert not (tmp_path / KEY_FILE).exists()

    async def test_an_encrypted_database_is_not_opened_without_a_sealer(
        self, open_store: OpenStore, database_url: str, tmp_path: Path
    ) -> None:
        await (await open_store(database_url, sealer=SecretKeys(tmp_path))).stop()
        with pytest.raises(SecretKeyMissing):
            await SqlStore(database_url, clock=ManualClock()).start()

    async def test_gateways_that_start_together_agree_on_one_key(
        self, open_store: OpenStore, empty_database_url: str, tmp_path: Path
    ) -> None:
        stores = await asyncio.gather(*(open_store(empty_database_url, sealer=SecretKeys(tmp_path)) for _ in range(3)))
        await stores[0].change_signing_keys(lambda _: [SIGNING_KEY])
        assert [await store.list_signing_keys() for store in stores] == [[SIGNING_KEY]] * 3


async def test_a_secret_copied_to_another_row_is_refused(open_store: OpenStore, database_url: str, tmp_path: Path) -> None:
    store = await open_store(database_url, sealer=SecretKeys(tmp_path))
    await fill(store)
    copying = "UPDATE users SET totp_secret = (SELECT totp_secret FROM users WHERE id = :anna) WHERE id = :bruno"
    await writes(lambda tx: tx.connection.execute(text(copying), {"anna": ANNA.id, "bruno": BRUNO.id}))(store)
    with pytest.raises(SealBroken, match=BRUNO.id):
        await store.find_user(BRUNO.id)


async def test_importing_the_same_estate_again_changes_nothing(
    open_store: OpenStore, database_url: str, tmp_path: Path
) -> None:
    store = await open_store(database_url, sealer=SecretKeys(tmp_path))
    await fill(store)
    exported = await store.export_estate()
    summary = await store.import_estate(exported, prune=False)
    assert (sum(summary.added.values()), sum(summary.updated.values())) == (0, 0)
    assert await store.export_estate() == exported


class TestRotation:
    async def test_all_secrets_are_encrypted_again_while_another_store_runs(
        self, open_store: OpenStore, database_url: str, tmp_path: Path
    ) -> None:
        running = await open_store(database_url, sealer=SecretKeys(tmp_path))
        await fill(running)
        before = await stored_texts(running)
        other = await open_store(database_url, sealer=SecretKeys(tmp_path), gateway=False)
        rotation = await other.rotate_secret_key()
        assert rotation.secrets == 4
        assert rotation.former != rotation.current == await running.find_secret_key_id()
        assert await read_all(running) == (SEED, JWK, SECRET)
        # The running store has not read the key file since: its next write uses the new key all the same.
        assert await running.set_webhook_secret(WEBHOOK.id, SECRET)
        after = await stored_texts(running)
        assert all(one.startswith(f"sealed:1:{rotation.current}:") for one in after)
        assert not set(before) & set(after)

    async def test_without_a_new_key_nothing_changes(self, open_store: OpenStore, database_url: str, tmp_path: Path) -> None:
        given = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
        store = await open_store(database_url, sealer=SecretKeys(tmp_path, given=given))
        await fill(store)
        before = await stored_texts(store)
        with pytest.raises(SecretKeyMissing, match="Write a new key"):
            await store.rotate_secret_key()
        assert await stored_texts(store) == before
        assert await read_all(store) == (SEED, JWK, SECRET)


async def test_a_backup_names_its_key(open_store: OpenStore, tmp_path: Path) -> None:
    store = await open_store(sqlite_url(tmp_path / "domogate.db"), sealer=SecretKeys(tmp_path))
    await store.backup(tmp_path / "backup.db")
    assert find_key_of_backup(tmp_path / "backup.db") == await store.find_secret_key_id()
    plain = await open_store(sqlite_url(tmp_path / "plain.db"))
    await plain.backup(tmp_path / "plain-backup.db")
    assert find_key_of_backup(tmp_path / "plain-backup.db") is None
