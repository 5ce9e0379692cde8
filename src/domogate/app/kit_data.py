"""The data folders of a gateway for tests.

A reset returns the gateway to its initial data: the accounts of the test kit and an estate.
"""

import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from domogate.app.estate_files import EstateFiles
from domogate.app.pages import register_client
from domogate.app.parts import sqlite_file
from domogate.app.tools import Tools, open_tools
from domogate.common.secrets import hash_secret, new_secret
from domogate.domain.estate import Estate
from domogate.domain.ids import derived_id, new_id
from domogate.domain.people import KNOWN_SCOPES, MANAGE_SCOPE, Client, Grant, Subscription, TokenKind, User
from domogate.drivers import check_options
from domogate.identity.hashing import PasswordHasher
from domogate.identity.secret_keys import KEY_FILE
from domogate.ports import Hasher
from domogate.settings import Settings
from domogate.test_api import Content

KIT_CLIENT = "test-kit"
KIT_KEY = "test-kit-subscription-key"
_KIT_EMAIL = "test-kit@example.com"
_CENTURY = 100 * 366 * 86_400.0
_FILES = (sqlite_file(Settings()).name, KEY_FILE)
_KIT_USER = derived_id("test kit", _KIT_EMAIL)

Prepare = Callable[[Tools], Awaitable[None]]


class KitData:
    """The data folders of the test kit.

    The folder `base` has only the accounts of the kit. The folder `first` has the initial data: these accounts and the estate.
    Each gateway works on its own copy of `first`.
    """

    def __init__(self, settings: Settings, folder: Path) -> None:
        self._settings = settings
        self._folder = folder
        self._copies = 0
        self.management_token = ""
        """An access token of an operator. It is valid after every reset."""

    async def prepare(self, document: str, prepare: Prepare | None = None) -> None:
        """Make the initial data: the accounts of the kit, and the content of the estate file.

        The function in the argument `prepare` may add data. Raises Invalid if the file has mistakes.
        """
        async with self._opened(self._folder / "base") as (tools, hasher):
            await tools.store.import_estate(await _kit_estate(hasher), prune=False)
            self.management_token = await _issue_management_token(tools)
        await self.replace_estate(document, prepare)

    async def replace_estate(self, document: str, prepare: Prepare | None = None) -> Content:
        """Make new initial data, to which each later reset returns: the accounts of the test kit, and this estate file.

        Return how many users, plants and modules the file added.

        Raises Invalid if the file has mistakes.
        """
        target = self._folder / "next"
        shutil.rmtree(target, ignore_errors=True)
        _copy(self._folder / "base", target)
        async with self._opened(target) as (tools, hasher):
            files = EstateFiles(tools.store, hasher, check_options(self._settings.drivers))
            summary = await files.import_document(document, prune=False, by=_KIT_USER)
            # A gateway writes these at its start, unless they are there already.
            await tools.store.set_address(self._settings.base_url)
            await register_client(self._settings, tools.store)
            if prepare is not None:
                await prepare(tools)
        shutil.rmtree(self._folder / "first", ignore_errors=True)
        target.rename(self._folder / "first")
        return Content(*(summary.added.get(noun, 0) for noun in ("users", "plants", "modules")))

    def copy(self) -> Settings:
        """Copy the initial data (folder `first`) to a new folder. Return the settings of a gateway that uses the new folder."""
        self._copies += 1
        data = self._folder / f"gateway-{self._copies}"
        _copy(self._folder / "first", data)
        return msgspec.structs.replace(self._settings, data=data)

    def remove(self, settings: Settings) -> None:
        """Remove the data of a gateway that has stopped."""
        shutil.rmtree(settings.data, ignore_errors=True)

    @asynccontextmanager
    async def _opened(self, data: Path) -> AsyncIterator[tuple[Tools, Hasher]]:
        """Open the store in this folder. Yield its tools (the store and its services) and a hasher.

        The hasher is fast and weak, because the passwords of tests are no secrets.
        """
        hasher = PasswordHasher(memory_kib=8, passes=1)
        try:
            async with open_tools(msgspec.structs.replace(self._settings, data=data), temporary=True) as tools:
                yield tools, hasher
        finally:
            hasher.close()


def _copy(source: Path, target: Path) -> None:
    """Copy the database and its secret key. The store was closed, so the database is one file."""
    target.mkdir(mode=0o700)
    for name in _FILES:
        shutil.copyfile(source / name, target / name)
        (target / name).chmod(0o600)


async def _kit_estate(hasher: Hasher) -> Estate:
    user = User(_KIT_USER, _KIT_EMAIL, "Test kit", password_hash=await hasher.hash_password(new_secret()), operator=True)
    client = Client(KIT_CLIENT, "Test kit", secret_hash=hash_secret(new_secret()), scopes=KNOWN_SCOPES)
    key = Subscription(derived_id("test kit", "key"), "Test kit", hash_secret(KIT_KEY), KIT_KEY[:6])
    return Estate(users=(user,), clients=(client,), subscriptions=(key,))


async def _issue_management_token(tools: Tools) -> str:
    user, client = await tools.store.find_user(_KIT_USER), await tools.store.find_client(KIT_CLIENT)
    assert user is not None
    assert client is not None
    grant = Grant(new_id(), user.id, client.id, (MANAGE_SCOPE,), created_at=tools.clock.now())
    await tools.store.add_grant(grant)
    return await (await tools.open_signer()).mint_token(TokenKind.ACCESS, user, client, grant, _CENTURY)
