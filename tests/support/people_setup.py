"""People on a real store, with a manual clock, a fast fake hasher and recorded mail."""

import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

from domogate.domain.authorization import Session
from domogate.domain.ids import Id, new_id
from domogate.domain.people import User
from domogate.ports import MailKind, OutgoingMail
from domogate.services.audit import AuditLog
from domogate.services.people import IssuedLink, People
from domogate.stores import SqlStore, sqlite_url
from support.clocks import ManualClock
from support.stores import SMALL

BASE_URL = "https://gateway.example"
LINK_LIFETIME = 3600.0
GOOD_PASSWORD = "seven green bottles"
NOBODY = Id("00000000-0000-4000-8000-00000000dead")


class FakeHasher:
    """Fast and not secret."""

    async def hash_password(self, password: str) -> str:
        return f"hash of {password[::-1]}"

    async def verify_password(self, password: str, password_hash: str | None) -> bool:
        return password_hash == f"hash of {password[::-1]}"


class RecordedMail:
    """Mail that a test can read. Without `sends` there is no mail server; with `failure` it is down."""

    def __init__(self) -> None:
        self.sends = False
        self.failure: OSError | None = None
        self.sent: list[tuple[str, str, str | None]] = []
        """Kind or plant, address and link of each mail."""
        self.mails: list[OutgoingMail] = []

    async def send(self, mail: OutgoingMail) -> bool:
        if self.failure is not None:
            raise self.failure
        if self.sends:
            what = mail.plant or ("password" if mail.kind is MailKind.PASSWORD_LINK else mail.kind)
            self.sent.append((what, mail.email, mail.link or None))
            self.mails.append(mail)
        return self.sends


class PeopleSetup:
    """People with their store, mail and audit log. Anna owns the house, Bruno is allowed in it, Carla is not active."""

    def __init__(self, store: SqlStore, clock: ManualClock) -> None:
        self.store = store
        self.clock = clock
        self.hasher = FakeHasher()
        self.mail = RecordedMail()
        self.audit = AuditLog(store, clock)
        self.people = People(
            store,
            self.hasher,
            clock,
            self.mail,
            base_url=BASE_URL,
            homes_url=f"{BASE_URL}/homes",
            link_lifetime=LINK_LIFETIME,
            audit=self.audit,
        )

    async def user(self, user_id: Id) -> User:
        found = await self.store.find_user(user_id)
        assert found is not None
        return found

    async def add_operator(self, email: str = "olga@example.com") -> User:
        user = User(new_id(), email, "Olga", "hash of x", operator=True)
        await self.store.save_user(user)
        return user

    async def open_session(self, user_id: Id, agent: str = "") -> Session:
        now = self.clock.now()
        session = Session(new_id(), f"hash {new_id()}", user_id, now, now, now, now + 1000, agent=agent)
        await self.store.add_session(session)
        return session

    async def noted(self) -> list[str]:
        """Actions of the audit log, in order."""
        await self.audit.flush()
        return [record.entry.action for record in await self.audit.list(limit=1000)]


def token_of(link: IssuedLink | str) -> str:
    url = link if isinstance(link, str) else link.url
    assert url is not None
    assert url.startswith(BASE_URL)
    return urlsplit(url).query.removeprefix("token=")


_template = tempfile.TemporaryDirectory(prefix="domogate-people-")


@asynccontextmanager
async def open_people(folder: Path, *, gateway: bool = False) -> AsyncIterator[PeopleSetup]:
    """The tables are made once per process and copied for each test."""
    made = Path(_template.name) / "domogate.sqlite3"
    if not made.exists():
        async with _started(made, gateway=False) as empty:
            await empty.store.import_estate(SMALL, prune=False)
    shutil.copy(made, folder)
    async with _started(folder / made.name, gateway=gateway) as opened:
        yield opened


@asynccontextmanager
async def _started(file: Path, *, gateway: bool) -> AsyncIterator[PeopleSetup]:
    clock = ManualClock()
    store = SqlStore(sqlite_url(file), clock=clock, poll=0.02, gateway=gateway, temporary=True)
    await store.start()
    try:
        yield PeopleSetup(store, clock)
    finally:
        await store.stop()
