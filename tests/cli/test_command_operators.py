"""`domogate init` and `domogate user …`."""

import asyncio
import json
from typing import Any

import pytest

from domogate.app import Gateway
from domogate.backends.printed_mail import PrintedMail
from domogate.domain.authorization import Session
from domogate.domain.ids import new_id
from domogate.domain.passkeys import UsedChallenge
from domogate.domain.people import Standing, User
from domogate.identity.secret_keys import SecretKeys
from domogate.services.people import People
from domogate.settings import Settings
from domogate.stores import SqlStore, sqlite_url
from support.clocks import NOW, ManualClock
from support.command_line import CommandLine
from support.people_setup import GOOD_PASSWORD, FakeHasher
from support.small_estate import EMAIL, INVITED, PLANT
from support.smtp_sink import smtp_sink
from support.stores import a_passkey

NEW = "dora@example.com"


def redeem(domogate: CommandLine, link: str) -> User:
    """Sets the password, like the page of the link."""

    async def whole() -> User:
        import time

        store = SqlStore(
            sqlite_url(domogate.data / "domogate.sqlite3"), clock=ManualClock(time.time()), sealer=SecretKeys(domogate.data)
        )
        await store.start()
        try:
            people = People(store, FakeHasher(), ManualClock(time.time()), PrintedMail(), base_url="")
            return await people.redeem_link(link.strip().rpartition("=")[2], GOOD_PASSWORD)
        finally:
            await store.stop()

    return asyncio.run(whole())


def change(domogate: CommandLine, email: str, **changes: object) -> None:
    """Things that only the person can do, on the account pages."""

    async def whole() -> None:
        import msgspec

        store = SqlStore(sqlite_url(domogate.data / "domogate.sqlite3"), clock=ManualClock(), sealer=SecretKeys(domogate.data))
        await store.start()
        user = await store.find_user_by_email(email)
        assert user is not None
        await store.save_user(msgspec.structs.replace(user, **changes))
        await store.stop()

    asyncio.run(whole())


def bind(domogate: CommandLine, email: str) -> None:
    """As the first token of an external issuer does."""

    async def whole() -> None:
        store = SqlStore(sqlite_url(domogate.data / "domogate.sqlite3"), clock=ManualClock(), sealer=SecretKeys(domogate.data))
        await store.start()
        assert await store.bind_external_account("https://id.example", "anna-at-id", email, 1_800_000_000.0) is not None
        await store.stop()

    asyncio.run(whole())


def add_passkeys(domogate: CommandLine, email: str, *names: str) -> None:
    """As the account page does."""

    async def whole() -> None:
        store = SqlStore(sqlite_url(domogate.data / "domogate.sqlite3"), clock=ManualClock(), sealer=SecretKeys(domogate.data))
        await store.start()
        user = await store.find_user_by_email(email)
        assert user is not None
        session = Session(new_id(), "hash", user.id, NOW, NOW, NOW, NOW + 60)
        await store.add_session(session)
        for number, name in enumerate(names):
            passkey = a_passkey(number, user, name=name)
            assert await store.add_passkey(passkey, UsedChallenge(passkey.id, NOW + 300), session.id)
        await store.stop()

    asyncio.run(whole())


def find(domogate: CommandLine, email: str) -> dict[str, Any]:
    found: dict[str, Any] = domogate.read("user", "show", email)
    return found


class TestInit:
    def test_it_prints_the_link_alone_and_it_works(self, domogate: CommandLine) -> None:
        link = domogate.good("init", "--email", NEW, "--name", "Dora")
        assert link.startswith("http://127.0.0.1:8080/auth/")
        assert len(link.split()) == 1
        assert redeem(domogate, link).operator
        (user,) = domogate.read("user", "list")
        assert (user["email"], user["operator"], user["active"]) == (NEW, True, True)

    def test_it_is_refused_once_there_is_an_operator(self, domogate: CommandLine) -> None:
        domogate.good("init", "--email", NEW)
        said = domogate.refused("init", "--email", "eve@example.com")
        assert said.startswith(f"domogate: There is an operator already: {NEW}.")
        assert [user["email"] for user in domogate.read("user", "list")] == [NEW]

    def test_without_an_email_and_a_person_to_ask_it_is_wrong_usage(self, domogate: CommandLine) -> None:
        assert "--email" in domogate.refused("init", code=2)

    def test_an_invalid_e_mail_address_is_refused(self, domogate: CommandLine) -> None:
        assert "e-mail" in domogate.refused("init", "--email", "dora")

    def test_it_says_what_it_assumes(self, domogate: CommandLine) -> None:
        first = domogate.run("init", "--email", NEW)
        assert f"the folder {domogate.data}, which is new" in first.stderr
        assert "the address http://127.0.0.1:8080 is assumed" in first.stderr
        assert "--data" in first.stderr
        assert "--public-url" in first.stderr
        assert first.stdout.startswith("http://127.0.0.1:8080/auth/")
        assert len(first.stdout.splitlines()) == 1

    def test_an_address_of_the_settings_is_not_called_assumed(self, domogate: CommandLine) -> None:
        result = domogate.run("init", "--email", NEW, "--public-url", "https://gateway.example.com")
        assert "assumed" not in result.stderr
        assert "https://gateway.example.com" in result.stderr

    def test_the_link_is_under_the_address_of_the_gateway(self, domogate: CommandLine) -> None:
        told = domogate.read("init", "--email", NEW, "--public-url", "https://gateway.example.com")
        assert told["link"].startswith("https://gateway.example.com/auth/")

        async def start_elsewhere() -> None:
            gateway = Gateway(Settings(data=domogate.data, port=49152))
            await gateway.start()
            await gateway.stop()

        asyncio.run(start_elsewhere())
        result = domogate.run("user", "password-link", NEW)
        assert result.stdout.startswith("http://127.0.0.1:49152/auth/")
        assert "assumed" not in result.stderr


class TestUserAdd:
    def test_a_user_sets_their_password_by_the_link(self, small: CommandLine) -> None:
        link = small.good("user", "add", NEW, "--name", "Dora")
        assert find(small, NEW)["active"] is False
        redeem(small, link)
        assert find(small, NEW)["active"] is True
        assert find(small, NEW)["operator"] is False

    def test_json_tells_the_user_and_the_link(self, small: CommandLine) -> None:
        told = small.read("user", "add", NEW, "--operator")
        assert (told["email"], told["operator"], told["mailed"]) == (NEW, True, False)
        assert told["link"].startswith("http")

    def test_the_link_is_kept_as_a_hash_only(self, small: CommandLine) -> None:
        token = small.good("user", "add", NEW).strip().rpartition("=")[2]
        assert len(token) >= 22
        assert token.encode() not in b"".join(file.read_bytes() for file in small.data.iterdir())

    @pytest.mark.parametrize(("email", "word"), [(EMAIL, "already"), (EMAIL.upper(), "already"), ("dora", "e-mail")])
    def test_what_cannot_be_added_is_said(self, small: CommandLine, email: str, word: str) -> None:
        assert word in small.refused("user", "add", email)

    async def test_where_there_is_a_mail_server_the_link_is_mailed_and_not_printed(
        self, small: CommandLine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async with smtp_sink() as sink:
            for setting, value in (
                ("HOST", "127.0.0.1"),
                ("PORT", sink.port),
                ("SECURITY", "none"),
                ("SENDER", "g@example.com"),
            ):
                monkeypatch.setenv(f"DOMOGATE_SMTP_{setting}", str(value))
            result = await asyncio.to_thread(small.run, "user", "add", NEW)
        assert (result.exit_code, result.stdout) == (0, "")
        assert NEW in result.stderr
        (message,) = sink.messages
        assert message["To"] == NEW
        assert "/auth/password?token=" in message.get_content()
        assert await asyncio.to_thread(small.good, "user", "password-link", NEW, "--show-link")

    def test_a_mail_server_that_is_not_there_is_said(self, small: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
        for setting, value in (("HOST", "127.0.0.1"), ("PORT", "9"), ("SENDER", "g@example.com")):
            monkeypatch.setenv(f"DOMOGATE_SMTP_{setting}", value)
        assert "mail" in small.refused("user", "add", NEW)


class TestUserShow:
    def test_it_tells_plants_applications_and_sessions(self, small: CommandLine) -> None:
        grant = small.read("token", "issue", EMAIL)["grant"]
        told = find(small, EMAIL)
        assert told["plants"] == [{"id": PLANT, "name": "Small house", "status": "active", "as": "owner"}]
        assert [one["id"] for one in told["grants"]] == [grant]
        assert told["sessions"] == []
        printed = small.good("user", "show", EMAIL)
        for word in ("Small house", "small-app", "second factor: no"):
            assert word in printed
        assert "argon2" not in printed + json.dumps(told)

    def test_an_unknown_user_is_an_error_with_a_hint(self, small: CommandLine) -> None:
        for word, *more in (
            *(["show"], ["password-link"], ["operator"], ["second-factor-reset"], ["logout"]),
            *(["passkey-remove", "1"], ["delete", "--yes"]),
        ):
            assert "user list" in small.refused("user", word, "nobody@example.com", *more)


class TestUserOperator:
    def test_one_is_made_and_unmade_but_never_the_last(self, small: CommandLine) -> None:
        small.good("user", "operator", EMAIL)
        assert "last operator" in small.refused("user", "operator", EMAIL, "no")
        small.good("user", "operator", INVITED, "yes")
        small.good("user", "operator", EMAIL, "no")
        assert {user["email"]: user["operator"] for user in small.read("user", "list")} == {EMAIL: False, INVITED: True}


class TestUserLogout:
    def test_applications_are_thrown_out_when_asked_for(self, small: CommandLine) -> None:
        small.good("token", "issue", EMAIL)
        small.good("user", "logout", EMAIL)
        assert len(find(small, EMAIL)["grants"]) == 1
        small.good("user", "logout", EMAIL, "--applications")
        assert find(small, EMAIL)["grants"] == []


class TestUserSecondFactor:
    def test_it_is_reset_once(self, small: CommandLine) -> None:
        change(small, EMAIL, totp_secret="JBSWY3DPEHPK3PXP", standing=Standing.GOOD)
        assert find(small, EMAIL)["second_factor"] is True
        small.good("user", "second-factor-reset", EMAIL)
        assert find(small, EMAIL)["second_factor"] is False
        assert "no second factor" in small.refused("user", "second-factor-reset", EMAIL)


class TestUserPasskeys:
    def test_they_are_shown_and_removed(self, small: CommandLine) -> None:
        assert find(small, EMAIL)["passkeys"] == []
        add_passkeys(small, EMAIL, "Phone", "Key")
        shown = find(small, EMAIL)
        assert ([one["name"] for one in shown["passkeys"]], shown["second_factor"]) == (["Phone", "Key"], True)
        assert "Phone" in small.good("user", "show", EMAIL)
        small.good("user", "passkey-remove", EMAIL, shown["passkeys"][0]["id"])
        assert [one["name"] for one in find(small, EMAIL)["passkeys"]] == ["Key"]
        assert "no passkey" in small.refused("user", "passkey-remove", EMAIL, shown["passkeys"][0]["id"])
        assert "user show" in small.refused("user", "passkey-remove", EMAIL, "Phone")

    def test_the_reset_of_the_second_factor_removes_them(self, small: CommandLine) -> None:
        add_passkeys(small, EMAIL, "Phone")
        small.good("user", "second-factor-reset", EMAIL)
        shown = find(small, EMAIL)
        assert (shown["passkeys"], shown["second_factor"]) == ([], False)


class TestUserExternalAccounts:
    def test_they_are_shown_and_unbound(self, small: CommandLine) -> None:
        assert find(small, EMAIL)["external_accounts"] == []
        assert "No account" in small.refused("user", "external-unbind", EMAIL)
        bind(small, EMAIL)
        (account,) = find(small, EMAIL)["external_accounts"]
        assert (account["issuer"], account["subject"]) == ("https://id.example", "anna-at-id")
        assert "https://id.example" in small.good("user", "show", EMAIL)
        small.good("user", "external-unbind", EMAIL)
        assert find(small, EMAIL)["external_accounts"] == []


class TestUserDelete:
    def test_they_are_gone(self, small: CommandLine) -> None:
        small.good("user", "delete", INVITED, "--yes")
        assert [user["email"] for user in small.read("user", "list")] == [EMAIL]

    def test_an_owner_cannot_be_deleted_and_the_plant_is_named(self, small: CommandLine) -> None:
        assert "Small house" in small.refused("user", "delete", EMAIL, "--yes")

    def test_without_yes_and_a_person_to_ask_nothing_is_deleted(self, small: CommandLine) -> None:
        assert "--yes" in small.refused("user", "delete", INVITED, code=2)
        assert len(small.read("user", "list")) == 2
