"""`domogate client …` and `domogate plant …`."""

import hashlib
import json
import time
from pathlib import Path

import pytest

from support.command_line import CommandLine
from support.small_estate import CLIENT, EMAIL, INVITED, LIGHT, PLANT

BACK = "https://app.example.com/back"
HEX = PLANT.replace("-", "")
DESK = "Desk"


def kept(domogate: CommandLine) -> bytes:
    return b"".join(file.read_bytes() for file in domogate.data.iterdir())


class TestClientAdd:
    @pytest.fixture(autouse=True)
    def _empty_store(self, empty_store: CommandLine) -> None:
        """Each of these tests begins with an empty store."""

    def test_the_secret_is_printed_alone_and_kept_as_a_hash(self, domogate: CommandLine) -> None:
        secret = domogate.good("client", "add", "app", "--redirect-uri", BACK, "--scope", "light.read openid").strip()
        assert len(secret) >= 22
        assert len(secret.split()) == 1
        assert secret.encode() not in kept(domogate)
        assert hashlib.sha256(secret.encode()).hexdigest().encode() in kept(domogate)
        told = domogate.read("client", "show", "app")
        assert told["redirect_uris"] == [BACK]
        assert told["scopes"] == ["light.read", "openid"]
        assert told["grants"] == ["authorization_code", "refresh_token"]
        assert told["confidential"] is True

    def test_a_public_one_has_no_secret(self, domogate: CommandLine) -> None:
        assert domogate.read("client", "add", "app", "--public", "--redirect-uri", BACK)["secret"] is None
        assert "no secret" in domogate.refused("client", "rotate-secret", "app")

    def test_one_without_a_redirect_uri_is_for_issued_tokens(self, domogate: CommandLine) -> None:
        result = domogate.run("client", "add", "script", "--scope", "gateway.manage")
        assert result.exit_code == 0
        assert "token issue" in result.stderr
        assert domogate.read("client", "show", "script")["grants"] == []

    @pytest.mark.parametrize(
        ("arguments", "word"),
        [
            (("app", "--redirect-uri", "x"), "absolute"),
            (("app", "--scope", "light.reed"), "light.read"),
            (("two words",), "without spaces"),
            (("app", "--name", " "), "name"),
            (("app", "--grant", "authorization_code"), "redirect URI"),
            (("app", "--public", "--pkce-exempt", "--redirect-uri", BACK), "PKCE"),
            (("app", "--origin", "https://a.example/x"), "origin"),
        ],
    )
    def test_a_violated_rule_is_an_error_and_nothing_is_added(
        self, domogate: CommandLine, arguments: tuple[str, ...], word: str
    ) -> None:
        assert word in domogate.refused("client", "add", *arguments)
        assert domogate.read("client", "list") == []

    def test_every_mistake_is_told_at_once(self, domogate: CommandLine) -> None:
        wrong = ("--redirect-uri", "callback", "--origin", "nowhere", "--scope", "light.read sing", "--scope", "dance")
        said = domogate.refused("client", "add", "my app", *wrong)
        for words in ("A client id", "'callback'", "'nowhere'", "no scope 'sing', 'dance'; there are: plug.read"):
            assert words in said


class TestClients:
    def test_an_id_is_taken_once(self, small: CommandLine) -> None:
        assert "already" in small.refused("client", "add", CLIENT)

    def test_they_are_listed_and_shown_without_secrets(self, small: CommandLine) -> None:
        secret = small.good("client", "add", "app", "--redirect-uri", BACK, "--name", "The app").strip()
        printed = small.good("client", "list") + small.good("client", "show", "app") + json.dumps(small.read("client", "list"))
        assert "The app" in printed
        assert secret not in printed
        assert hashlib.sha256(secret.encode()).hexdigest() not in printed
        assert {client["id"] for client in small.read("client", "list")} == {CLIENT, "app"}

    def test_a_new_secret_replaces_the_old(self, small: CommandLine) -> None:
        first = small.good("client", "add", "app", "--redirect-uri", BACK).strip()
        second = small.read("client", "rotate-secret", "app")["secret"]
        assert first != second
        assert hashlib.sha256(second.encode()).hexdigest().encode() in kept(small)

    def test_a_change_keeps_the_secret_the_grants_and_what_no_flag_names(self, small: CommandLine) -> None:
        secret = small.good("client", "add", "app", "--redirect-uri", BACK, "--origin", "https://a.example").strip()
        small.good("token", "issue", EMAIL, "--client", "app")
        before = small.read("client", "show", "app")
        other = "https://app.example.com/other"
        told = small.read(
            "client", "change", "app", "--redirect-uri", BACK, "--redirect-uri", other, "--scope", "light.read openid"
        )
        assert told == {**before, "redirect_uris": [BACK, other], "scopes": ["light.read", "openid"]}
        assert small.read("client", "show", "app") == told
        assert hashlib.sha256(secret.encode()).hexdigest().encode() in kept(small)
        assert len(small.read("user", "show", EMAIL)["grants"]) == 1
        small.good("client", "change", "app", "--name", "The app", "--origin", "", "--access-token-everywhere", "--pkce-exempt")
        told = small.read("client", "show", "app")
        assert (told["name"], told["origins"], told["access_token_everywhere"], told["pkce_exempt"]) == (
            "The app",
            [],
            True,
            True,
        )
        small.good("client", "change", "app", "--pkce-required", "--access-token-by-family")
        told = small.read("client", "show", "app")
        assert (told["access_token_everywhere"], told["pkce_exempt"]) == (False, False)

    def test_a_change_against_a_rule_changes_nothing(self, small: CommandLine) -> None:
        before = small.read("client", "show", CLIENT)
        assert "--redirect-uri" in small.refused("client", "change", CLIENT, code=2)
        assert "light.read" in small.refused("client", "change", CLIENT, "--scope", "light.reed", "--name", "New")
        assert "redirect URI" in small.refused("client", "change", CLIENT, "--grant", "authorization_code")
        assert small.read("client", "show", CLIENT) == before

    def test_one_is_deleted_with_its_grants(self, small: CommandLine) -> None:
        small.good("token", "issue", EMAIL)
        assert "--yes" in small.refused("client", "delete", CLIENT, code=2)
        small.good("client", "delete", CLIENT, "--yes")
        assert small.read("client", "list") == []
        assert small.read("user", "show", EMAIL)["grants"] == []

    def test_an_unknown_client_is_an_error_with_a_hint(self, small: CommandLine) -> None:
        for words in (("show",), ("change", "--name", "x"), ("rotate-secret",), ("delete", "--yes")):
            assert "client list" in small.refused("client", words[0], "nobody", *words[1:])


class TestPlants:
    @pytest.mark.parametrize("named", [PLANT, PLANT.upper(), HEX, "Small house"])
    def test_one_is_shown_by_id_or_name(self, small: CommandLine, named: str) -> None:
        told = small.read("plant", "show", named)
        assert told["id"] == PLANT
        assert (told["owner"], told["allowed"], told["invited"]) == (EMAIL, [], [])
        assert "Small house" in small.good("plant", "show", named)

    def test_they_are_listed(self, small: CommandLine) -> None:
        assert [plant["id"] for plant in small.read("plant", "list")] == [PLANT]
        assert EMAIL in small.good("plant", "list")

    def test_a_name_that_several_have_is_not_enough(self, small: CommandLine) -> None:
        twin = PLANT[:-1] + "9"
        second = (
            f"plants:\n  - {{id: {twin}, name: Small house, type: house, owner: {EMAIL}}}\nusers:\n  - {{email: {EMAIL}}}\n"
        )
        small.good("estate", "import", "-", input=second)
        said = small.refused("plant", "show", "Small house")
        assert PLANT in said
        assert twin in said

    def test_an_unknown_plant_is_an_error_with_a_hint(self, small: CommandLine) -> None:
        for words in (("show",), ("remove",), ("restore",), ("invite", EMAIL), ("allow", EMAIL), ("withdraw", EMAIL)):
            assert "plant list" in small.refused("plant", words[0], "nowhere", *words[1:])

    def test_a_person_without_an_active_account_is_invited_with_a_link(self, small: CommandLine) -> None:
        told = small.read("plant", "invite", PLANT, "dora@example.com")
        assert told["outcome"] == "invited"
        assert "/auth/" in told["link"]
        assert small.read("plant", "show", PLANT)["invited"] == ["dora@example.com"]
        assert "already" in small.refused("plant", "invite", PLANT, "dora@example.com")
        small.good("plant", "withdraw", PLANT, "dora@example.com")
        assert small.read("plant", "show", PLANT)["invited"] == []

    def test_an_active_user_gets_access_at_once(self, small: CommandLine) -> None:
        second = f"users:\n  - {{email: eve@example.com, password: correct horse}}\n  - {{email: {EMAIL}}}\n"
        small.good("estate", "import", "-", input=second)
        told = small.read("plant", "invite", PLANT, "eve@example.com")
        assert (told["outcome"], told["link"]) == ("member", None)
        assert small.read("plant", "show", PLANT)["allowed"] == ["eve@example.com"]

    def test_a_user_is_allowed_and_withdrawn_but_never_the_owner(self, small: CommandLine) -> None:
        small.good("plant", "allow", PLANT, INVITED)
        assert small.read("plant", "show", PLANT)["allowed"] == [INVITED]
        small.good("plant", "withdraw", PLANT, INVITED)
        assert small.read("plant", "show", PLANT)["allowed"] == []
        assert "owns" in small.refused("plant", "withdraw", PLANT, EMAIL)
        assert "user list" in small.refused("plant", "allow", PLANT, "nobody@example.com")

    def test_a_guest_gets_rooms_and_a_period(self, small: CommandLine) -> None:
        period = ("--from", "2100-01-01T14:00:00+01:00", "--until", "2100-01-03")
        small.good("plant", "invite", PLANT, "dora@example.com", "--module", DESK, *period)
        limits = small.read("plant", "show", PLANT)["limits"]
        assert limits == {
            "dora@example.com": {
                "floors": [],
                "ambients": [],
                "modules": [LIGHT],
                "valid_from": "2100-01-01T13:00:00+00:00",
                "valid_until": "2100-01-04T00:00:00+00:00",
            }
        }
        shown = small.good("plant", "show", PLANT)
        assert f"dora@example.com ({DESK}; from 2100-01-01T13:00:00+00:00; until 2100-01-04T00:00:00+00:00)" in shown

    def test_a_day_is_included_in_the_time_zone_of_the_machine(
        self, small: CommandLine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        period = ("--from", "2100-01-01", "--until", "2100-01-03")
        with monkeypatch.context() as elsewhere:
            elsewhere.setenv("TZ", "Europe/Rome")
            time.tzset()
            said = small.run("plant", "invite", PLANT, "dora@example.com", *period).stderr
        time.tzset()
        assert "(from 2100-01-01T00:00:00+01:00; until 2100-01-04T00:00:00+01:00)" in said
        assert "too late" in small.refused("plant", "limit", PLANT, "dora@example.com", "--until", "9999-12-31")

    def test_a_room_may_be_named_by_the_end_of_its_name(self, domogate: CommandLine, tmp_path: Path) -> None:
        file = str(tmp_path / "hotel.yaml")
        hotel = ("--name", "Hotel", "--type", "hotel", "--owner", "anna@example.com", "--floors", "2", "--rooms", "3")
        domogate.bare("estate", "new", file, *hotel)
        domogate.good("estate", "import", file)
        said = domogate.run("plant", "invite", "Hotel", "guest@example.com", "--room", "203", "--floor", "floor-1").stderr
        assert "guest@example.com is invited to Hotel (Floor 1, Room 203)." in said
        unknown = domogate.refused("plant", "limit", "Hotel", "guest@example.com", "--room", "3")
        listed = "Room 101, Room 102, Room 103, Room 201, Room 202, Room 203"
        assert f"there is no room '3'; the plant has these rooms: {listed}." in unknown
        near = domogate.refused("plant", "limit", "Hotel", "guest@example.com", "--room", "Rom 203")
        assert "did you mean 'Room 203'?" in near

    def test_the_end_of_several_names_is_not_enough(self, domogate: CommandLine) -> None:
        hotel = ("--name", "Hotel", "--type", "hotel", "--owner", "anna@example.com", "--floors", "1", "--rooms", "2")
        text = domogate.bare("estate", "new", *hotel).stdout.replace("Room 101", "East Suite").replace("Room 102", "West Suite")
        domogate.good("estate", "import", "-", input=text)
        said = domogate.refused("plant", "invite", "Hotel", "guest@example.com", "--room", "suite")
        assert "not unique" in said
        assert "East Suite" in said

    def test_the_limits_of_a_member_are_replaced_and_lifted(self, small: CommandLine) -> None:
        small.good("plant", "allow", PLANT, INVITED, "--module", LIGHT)
        assert small.read("plant", "show", PLANT)["limits"][INVITED]["modules"] == [LIGHT]
        small.good("plant", "limit", PLANT, INVITED, "--until", "2100-01-01")
        assert small.read("plant", "show", PLANT)["limits"][INVITED]["modules"] == []
        small.good("plant", "limit", PLANT, INVITED)
        assert small.read("plant", "show", PLANT)["limits"] == {}

    def test_the_limits_of_an_invited_person_are_replaced_and_lifted(self, small: CommandLine) -> None:
        small.good("plant", "invite", PLANT, "dora@example.com", "--until", "2100-01-03")
        small.good("plant", "limit", PLANT, "Dora@example.com", "--module", DESK)
        limits = small.read("plant", "show", PLANT)["limits"]["dora@example.com"]
        assert (limits["modules"], limits["valid_until"]) == ([LIGHT], None)
        small.good("plant", "limit", PLANT, "dora@example.com")
        assert small.read("plant", "show", PLANT)["limits"] == {}
        assert "no open invitation" in small.refused("plant", "limit", PLANT, "nobody@example.com")

    def test_limits_that_make_no_sense_are_refused(self, small: CommandLine) -> None:
        small.good("plant", "allow", PLANT, INVITED)
        assert "no room" in small.refused("plant", "limit", PLANT, INVITED, "--room", "nowhere")
        assert "future" in small.refused("plant", "limit", PLANT, INVITED, "--until", "2001-01-01")
        assert "after" in small.refused(
            "plant", "limit", PLANT, INVITED, "--from", "2100-01-02", "--until", "2100-01-01T23:00:00Z", code=2
        )
        assert "owns" in small.refused("plant", "limit", PLANT, EMAIL, "--until", "2100-01-01")

    def test_one_is_removed_and_restored(self, small: CommandLine) -> None:
        small.good("plant", "remove", PLANT)
        assert small.read("plant", "show", PLANT)["status"] == "removed"
        assert "removed since" in small.good("plant", "show", PLANT)
        assert "already" in small.refused("plant", "remove", PLANT)
        small.good("plant", "restore", PLANT)
        assert small.read("plant", "show", PLANT)["status"] == "active"
        assert "already" in small.refused("plant", "restore", PLANT)
