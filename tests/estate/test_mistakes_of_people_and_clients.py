"""Mistakes in the people, guests, subscriptions and clients of an estate file."""

import pytest

from domogate.domain.estate import Estate
from domogate.domain.ids import Id
from domogate.domain.limits import Limits
from domogate.domain.people import User
from domogate.estate import print_estate, read_estate
from support.estate_mistakes import LAMP, OTHER, house, mistakes, module, the_mistake


class TestWeakSecrets:
    @pytest.mark.parametrize(
        ("password", "word"),
        [
            ("nine char", "10"),
            ("password123", "easy to guess"),
            ("Passwordpassword", "easy to guess"),
            ("1234512345", "easy to guess"),
            ("aaaaaaaaaaaa", "easy to guess"),
            ("anna@example.com", "e-mail"),
        ],
    )
    def test_a_weak_password_is_told_with_its_line_and_not_repeated(self, password: str, word: str) -> None:
        told = the_mistake(f"users:\n  - email: anna@example.com\n    password: {password}\n")
        assert (told.line, told.path) == (3, "users[0].password")
        assert word in told.problem + told.allowed
        assert password not in f"{told.problem}{told.allowed}{told.hint}" or word == "e-mail"

    @pytest.mark.parametrize(
        "secret", ["a" * 20, "0123456789" * 2, "changeme-changeme", "abcdabcdabcdabcd", "Password-12345678", "x1y2z3w4x1y2z3w4"]
    )
    def test_a_weak_secret_or_key_is_told_with_its_line_and_not_repeated(self, secret: str) -> None:
        text = f"subscriptions:\n  - {{name: A, key: '{secret}'}}\n"
        text += f"clients:\n  - {{id: app, name: App, scopes: [], secret: '{secret}'}}\n"
        found = mistakes(text)
        assert [(told.line, told.path) for told in found] == [(2, "subscriptions[0].key"), (4, "clients[0].secret")]
        assert all(told.problem == "this is easy to guess" and secret not in told.allowed for told in found)

    @pytest.mark.parametrize(
        "uri",
        ["http://app.example/back", "http://192.168.1.5:8123/back", "HTTP://localhost.example/", "http://127.0.0.1.example/"],
    )
    @pytest.mark.parametrize("key", ["redirectUris", "postLogoutRedirectUris"])
    def test_plain_http_to_another_machine_is_told_with_its_line(self, key: str, uri: str) -> None:
        told = the_mistake(f"clients:\n  - id: app\n    name: App\n    scopes: []\n    {key}:\n      - {uri}\n")
        assert (told.line, told.path) == (6, f"clients[0].{key}[0]")
        assert "https" in told.allowed

    @pytest.mark.parametrize(
        "uri",
        [
            *(
                "http://localhost:8090/back",
                "http://127.0.0.1/back",
                "http://127.8.8.8/",
                "http://[::1]:80/",
                "http://app.localhost/",
            ),
            *("https://app.example/back", "com.example.app:/back"),
        ],
    )
    def test_https_own_schemes_and_loopback_are_allowed(self, uri: str) -> None:
        text = f"clients:\n  - {{id: app, name: App, scopes: [], redirectUris: ['{uri}']}}\n"
        assert read_estate(text, "x").estate.clients


GUEST = "email: bruno@example.com"


class TestGuests:
    def test_have_limits_in_any_spelling_of_ids(self) -> None:
        text = (
            module("kind: light")
            + f"    allowed: [{{{GUEST}, modules: [{LAMP.upper()}], validUntil: 2026-11-22T11:00:00+01:00}}]\n"
        )
        (guest,) = read_estate(text, "x").estate.plants[0].plant.allowed
        assert guest.limits == Limits(modules=(Id(LAMP),), valid_until=1_795_341_600.0)

    def test_without_limits_are_members(self) -> None:
        (member,) = read_estate(house(f"allowed: [{{{GUEST}}}]"), "x").estate.plants[0].plant.allowed
        assert member.limits is None

    @pytest.mark.parametrize("key", ["floors", "ambients", "modules"])
    @pytest.mark.parametrize("people", ["allowed", "invited"])
    def test_places_are_in_the_plant(self, people: str, key: str) -> None:
        told = the_mistake(house(f"{people}: [{{{GUEST}, {key}: [{OTHER}]}}]"))
        assert told.path == f"plants[0].{people}[0].{key}[0]"
        assert told.problem == f"this plant has no {key[:-1]} '{OTHER}'"

    @pytest.mark.parametrize("key", ["floors", "ambients", "modules"])
    def test_deleted_places_are_written_and_read_again(self, key: str) -> None:
        text = house(f"allowed: [{{{GUEST}, {key}: [{OTHER}], deletedPlaces: [{OTHER.upper()}]}}]")
        estate = read_estate(text, "x").estate
        (guest,) = estate.plants[0].plant.allowed
        assert getattr(guest.limits, key) == (OTHER,)
        assert read_estate(print_estate(estate), "x").estate == estate

    def test_a_period_ends_after_it_begins(self) -> None:
        told = the_mistake(house(f"allowed: [{{{GUEST}, validFrom: 2026-11-22, validUntil: 2026-11-20}}]"))
        assert told.path == "plants[0].allowed[0].validUntil"

    def test_are_users_and_named_once(self) -> None:
        assert the_mistake(house("allowed: [{email: nobody@example.com}]")).path == "plants[0].allowed[0].email"
        assert the_mistake(house(f"allowed: [bruno@example.com, {{{GUEST}}}]")).path == "plants[0].allowed[1].email"
        assert the_mistake(house("invited: [{email: Anna@example.com}]")).problem.endswith("is already the owner")


class TestPeople:
    def test_an_e_mail_address_used_twice_in_any_case(self) -> None:
        told = the_mistake("users: [{email: anna@example.com}, {email: Anna@Example.com}]")
        assert told.path == "users[1].email"

    @pytest.mark.parametrize(
        "email", ["anna", "anna@", "@example.com", "anna@example", "a b@example.com", "a@b@example.com", "a@.com"]
    )
    def test_an_e_mail_address_that_is_none(self, email: str) -> None:
        assert the_mistake(f"users: [{{email: '{email}'}}]").problem == f"'{email}' is not an e-mail address"

    def test_an_owner_who_is_no_user(self) -> None:
        told = the_mistake(house().replace("owner: anna", "owner: ana"))
        assert told.path == "plants[0].owner"
        assert told.hint == "Did you mean 'anna@example.com'?"

    @pytest.mark.parametrize(
        ("line", "path", "problem"),
        [
            ("allowed: [nobody@example.com]", "allowed[0]", "no user has the e-mail address 'nobody@example.com'"),
            ("allowed: [Anna@example.com]", "allowed[0]", "'Anna@example.com' is already the owner"),
            ("allowed: [bruno@example.com, bruno@example.com]", "allowed[1]", "'bruno@example.com' is already allowed here"),
            ("invited: [anna@example.com]", "invited[0]", "'anna@example.com' is already the owner"),
            ("invited: [x@example.com, X@example.com]", "invited[1]", "'X@example.com' is already invited"),
        ],
    )
    def test_a_person_listed_twice(self, line: str, path: str, problem: str) -> None:
        told = the_mistake(house(line))
        assert (told.path, told.problem) == (f"plants[0].{path}", problem)

    def test_an_address_that_stands_for_a_login_name(self) -> None:
        """An export names such a user with an id; nobody can be invited by such an address (Decision 0100)."""
        told = the_mistake(house("invited: [{email: emil@Guest.invalid}]"))
        assert told.path == "plants[0].invited[0].email"
        assert the_mistake("users: [{email: emil@guest.invalid}]").path == "users[0].email"
        exported = print_estate(Estate(users=(User(Id("5a1e0009-0203-4000-8000-000000000000"), "emil@guest.invalid"),)))
        assert read_estate(exported, "x").estate.users[0].email == "emil@guest.invalid"

    def test_someone_allowed_and_invited(self) -> None:
        told = the_mistake(house("allowed: [bruno@example.com]", "invited: [bruno@example.com]"))
        assert told.path == "plants[0].invited[0]"

    @pytest.mark.parametrize(
        ("section", "record"),
        [
            ("users", "email: a@example.com, password: long-enough, passwordHash: x"),
            ("subscriptions", f"name: x, key: q7fTz2Lk9vXw4RbN, keyHash: {'0' * 64}"),
            ("clients", f"id: x, name: x, scopes: [], secret: q7fTz2Lk9vXw4RbN, secretHash: {'0' * 64}"),
        ],
    )
    def test_a_secret_and_its_hash(self, section: str, record: str) -> None:
        assert the_mistake(f"{section}: [{{{record}}}]").problem.endswith("cannot both be given")


class TestSubscriptionsAndClients:
    @pytest.mark.parametrize(
        ("record", "path", "allowed"),
        [
            ("key: 0123456789abcde", ".key", "at least 16 characters"),
            ("key: '0123456789 abcdef'", ".key", "ASCII letters, digits and signs, without spaces"),
            ("rate: 3", "", "'key', or 'keyHash' as an export writes it"),
            ("key: q7fTz2Lk9vXw4RbN, hint: q7f", ".hint", ""),
            ("key: q7fTz2Lk9vXw4RbN, dailyQuota: 0", ".dailyQuota", "1 to 9007199254740992"),
            ("key: q7fTz2Lk9vXw4RbN, dailyQuota: 9007199254740993", ".dailyQuota", "1 to 9007199254740992"),
            (
                "key: q7fTz2Lk9vXw4RbN, expires: tomorrow",
                ".expires",
                "ISO 8601 from 1970 on, such as 2026-11-15 or 2026-11-15T08:30:00+01:00",
            ),
            (
                "key: q7fTz2Lk9vXw4RbN, expires: 2026-02-30",
                ".expires",
                "ISO 8601 from 1970 on, such as 2026-11-15 or 2026-11-15T08:30:00+01:00",
            ),
        ],
    )
    def test_a_subscription_that_breaks_a_rule(self, record: str, path: str, allowed: str) -> None:
        found = [told for told in mistakes(f"subscriptions: [{{name: x, {record}}}]") if not told.path.endswith("rate")]
        assert [(told.path, told.allowed) for told in found] == [(f"subscriptions[0]{path}", allowed)]

    def test_one_key_for_two(self) -> None:
        told = the_mistake("subscriptions: [{name: a, key: q7fTz2Lk9vXw4RbN}, {name: b, key: q7fTz2Lk9vXw4RbN}]")
        assert told.problem == "this key is already used by subscriptions[0]"

    @pytest.mark.parametrize(
        "uri",
        [
            "/callback",
            "callback",
            "http://",
            "http://x/#frag",
            "javascript:alert(1)",
            "data:text/html,x",
            "http://[x/",
            "http://x/ y",
        ],
    )
    def test_a_redirect_uri_that_is_none(self, uri: str) -> None:
        told = the_mistake(f"clients: [{{id: x, name: x, scopes: [], redirectUris: ['{uri}']}}]")
        assert told.path == "clients[0].redirectUris[0]"
        assert told.allowed.startswith("an absolute address without a fragment")

    @pytest.mark.parametrize("origin", ["http://x/", "http://x/y", "localhost:3000", "*", "null", "HTTP://X"])
    def test_an_origin_that_is_none(self, origin: str) -> None:
        assert the_mistake(f"clients: [{{id: x, name: x, scopes: [], origins: ['{origin}']}}]").path == "clients[0].origins[0]"

    def test_a_scope_that_is_not_known(self) -> None:
        told = the_mistake("clients: [{id: x, name: x, scopes: [light.reed]}]")
        assert told.hint == "Did you mean 'light.read'?"

    def test_the_client_of_the_gateway_s_own_pages(self) -> None:
        told = the_mistake("clients: [{id: domogate-pages, name: x, scopes: []}]")
        assert (told.path, told.allowed) == ("clients[0].id", "another id")

    def test_pkce_is_for_every_client_without_a_secret(self) -> None:
        told = the_mistake("clients: [{id: x, name: x, scopes: [], pkceExempt: true}]")
        assert (told.path, told.problem) == (
            "clients[0].pkceExempt",
            "an application without a secret needs PKCE",
        )

    def test_where_people_are_sent_after_logout_has_no_fragment(self) -> None:
        told = the_mistake("clients: [{id: x, name: x, scopes: [], postLogoutRedirectUris: ['https://app.example/#out']}]")
        assert told.path == "clients[0].postLogoutRedirectUris[0]"

    def test_a_client_id_used_twice(self) -> None:
        assert the_mistake("clients: [{id: x, name: x, scopes: []}, {id: x, name: y, scopes: []}]").path == "clients[1].id"

    def test_a_unit_reference_used_twice(self) -> None:
        assert the_mistake("spareParts: [{unit: '062520'}, {unit: 062520}]").path == "spareParts[1].unit"
