"""`domogate token …` and `domogate user …`."""

import asyncio
from pathlib import Path
from typing import Any

import jwt
import pytest

from domogate.app import Gateway, open_tools
from domogate.settings import Settings
from support.command_line import CommandLine
from support.small_estate import CLIENT, EMAIL, INVITED


def unverified(token: str) -> dict[str, Any]:
    claims: dict[str, Any] = jwt.decode(token, options={"verify_signature": False})
    return claims


class TestTokenIssue:
    def test_it_prints_the_token_alone(self, small: CommandLine) -> None:
        printed = small.good("token", "issue", "--user", EMAIL)
        assert printed.count(".") == 2
        assert len(printed.split()) == 1

    @pytest.mark.parametrize(("kind", "typ"), [("access", "at+jwt"), ("id", "JWT")])
    def test_it_is_of_the_kind_asked_for(self, small: CommandLine, kind: str, typ: str) -> None:
        told = small.read("token", "issue", EMAIL, "--kind", kind, "--client", CLIENT)
        assert jwt.get_unverified_header(told["token"])["typ"] == typ
        assert told["client"] == CLIENT

    def test_it_has_the_scopes_asked_for_and_else_all_of_the_client(self, small: CommandLine) -> None:
        assert small.read("token", "issue", EMAIL, "--scope", "light.read")["scopes"] == ["light.read"]
        assert small.read("token", "issue", EMAIL, "--scope", "light.read topology.read")["scopes"] == [
            "light.read",
            "topology.read",
        ]
        assert small.read("token", "issue", EMAIL)["scopes"] == ["topology.read", "light.read"]

    def test_it_lives_as_long_as_asked_for(self, small: CommandLine) -> None:
        claims = unverified(small.good("token", "issue", EMAIL, "--lifetime", "90s").strip())
        assert claims["exp"] - claims["iat"] == 90

    def test_it_is_issued_under_the_address_of_the_gateway_on_the_same_data(self, small: CommandLine) -> None:
        async def start_elsewhere() -> None:
            async with open_tools(Settings(data=small.data)) as tools:
                await tools.store.set_address("http://127.0.0.1:49152")

        asyncio.run(start_elsewhere())
        assert str(unverified(small.good("token", "issue", EMAIL).strip())["iss"]).startswith("http://127.0.0.1:49152")
        told = small.good("token", "issue", EMAIL, "--public-url", "https://gateway.example.com").strip()
        assert str(unverified(told)["iss"]).startswith("https://gateway.example.com")

    @pytest.mark.parametrize(
        ("arguments", "word"),
        [
            (("nobody@example.com",), "user list"),
            ((INVITED,), "not active"),
            ((EMAIL, "--client", "other-app"), CLIENT),
            ((EMAIL, "--scope", "plug.write"), "plug.write"),
            ((EMAIL, "--lifetime", "long"), "90d"),
        ],
    )
    def test_what_cannot_be_had_is_said(self, small: CommandLine, arguments: tuple[str, ...], word: str) -> None:
        assert word in small.refused("token", "issue", *arguments)

    def test_without_a_user_it_is_wrong_usage(self, small: CommandLine) -> None:
        assert "--user" in small.refused("token", "issue", code=2)
        assert "--user" in small.refused("token", "issue", EMAIL, "--user", INVITED, code=2)


class TestTokenRevoke:
    def test_a_grant_is_revoked_once_and_for_all(self, small: CommandLine) -> None:
        grant = small.read("token", "issue", EMAIL)["grant"]
        small.good("token", "revoke", grant)

    @pytest.mark.parametrize("grant", ["x", "5b0f0c52-7a54-4a0c-9c3f-0d9f6a4f1aff"])
    def test_an_unknown_grant_is_refused(self, small: CommandLine, grant: str) -> None:
        assert grant in small.refused("token", "revoke", grant)


class TestUserList:
    def test_it_tells_who_is_active(self, small: CommandLine) -> None:
        assert {user["email"]: user["active"] for user in small.read("user", "list")} == {EMAIL: True, INVITED: False}
        assert "not active yet" in small.good("user", "list")

    def test_it_tells_no_hash(self, small: CommandLine) -> None:
        assert "argon2" not in small.good("user", "list") + small.good("user", "list", "--json")


class TestUserChange:
    def test_name_and_language_are_changed_one_by_one(self, small: CommandLine) -> None:
        small.good("user", "change", EMAIL, "--language", "it")
        small.good("user", "change", EMAIL, "--name", "Annabella")
        shown = small.read("user", "show", EMAIL)
        assert (shown["name"], shown["language"]) == ("Annabella", "it")
        small.good("user", "change", EMAIL, "--language", "browser")
        assert small.read("user", "show", EMAIL)["language"] is None

    def test_a_new_email_replaces_the_old_one(self, small: CommandLine) -> None:
        before = small.read("user", "show", EMAIL)["id"]
        small.good("user", "change", EMAIL, "--email", "anna@example.org", "--name", "Annabella")
        shown = small.read("user", "show", "anna@example.org")
        assert (shown["id"], shown["name"]) == (before, "Annabella")
        assert "already" in small.refused("user", "change", "anna@example.org", "--email", INVITED)

    def test_without_a_change_the_flags_are_named(self, small: CommandLine) -> None:
        assert "--language" in small.refused("user", "change", EMAIL)


class TestUserStanding:
    @pytest.mark.parametrize(
        ("word", "standing"),
        [
            ("password-expired", "password expired"),
            ("terms-expired", "terms expired"),
            ("both-expired", "password and terms expired"),
            ("good", "good"),
        ],
    )
    def test_it_is_set(self, small: CommandLine, word: str, standing: str) -> None:
        small.good("user", "standing", EMAIL, word)
        assert {user["email"]: user["standing"] for user in small.read("user", "list")}[EMAIL] == standing

    def test_terms_without_a_text_are_noted(self, small: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
        assert "set terms_file or terms_url there" in small.run("user", "standing", EMAIL, "terms-expired").output
        assert "terms_file" not in small.run("user", "standing", EMAIL, "good").output
        monkeypatch.setenv("DOMOGATE_TERMS_URL", "https://example.com/terms")
        assert "terms_file" not in small.run("user", "standing", EMAIL, "terms-expired").output

    def test_an_unknown_user_or_word_is_refused(self, small: CommandLine) -> None:
        assert "user list" in small.refused("user", "standing", "nobody@example.com", "good")
        assert small.run("user", "standing", EMAIL, "bad").exit_code == 2


class TestChangedTerms:
    def test_a_gateway_that_starts_with_another_text_asks_again(self, small: CommandLine, tmp_path: Path) -> None:
        file = tmp_path / "terms.txt"

        async def start(text: str, *, accept: bool = False) -> None:
            file.write_text(text)
            gateway = Gateway(Settings(data=small.data, port=49152, terms_file=file))
            await gateway.start()
            if accept:
                assert gateway.terms is not None
                user = await gateway.people.get_user_by_email(EMAIL)
                await gateway.people.accept_terms(user.id, gateway.terms.version)
            await gateway.stop()

        asyncio.run(start("Be kind.", accept=True))
        asyncio.run(start("Be kind.\n"))
        assert small.read("user", "show", EMAIL)["standing"] == "good"
        asyncio.run(start("Be kind and quiet."))
        assert small.read("user", "show", EMAIL)["standing"] == "terms expired"
