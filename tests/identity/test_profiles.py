import tomllib
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domogate.domain.people import MANAGE_SCOPE, Scope, TokenKind
from domogate.identity.profiles import ALGORITHMS, PRESETS, IssuerProfile, TokenMark, find_problem_of_url
from support.examples import examples

URL = "https://id.example/realms/home"


def profile(**fields: Any) -> IssuerProfile:
    return IssuerProfile(**{"url": URL, "clients": {"app": "demo-app"}, **fields})


class TestAProfile:
    def test_can_be_written_as_a_table_of_a_settings_file(self) -> None:
        text = """
            [[issuers]]
            url = "https://login.example/tenant/v2.0"
            preset = "entra"
            audiences = ["api://gateway"]
            clients = {"11111111-2222" = "demo-app"}
            scopes = {"Home.Read" = ["topology.read", "light.read"]}
            id_mark = {present = ["nonce"], absent = ["scp"]}
        """
        (read,) = msgspec.convert(tomllib.loads(text)["issuers"], tuple[IssuerProfile, ...])
        assert read.id_mark == TokenMark(present=("nonce",), absent=("scp",))
        assert read.metadata == "https://login.example/tenant/v2.0/.well-known/openid-configuration"

    @pytest.mark.parametrize(
        ("wrong", "word"),
        [
            ({"url": "http://id.example"}, "https is expected"),
            ({"url": "ftp://id.example"}, "https is expected"),
            ({"url": "id.example"}, "a URL with a host"),
            ({"url": "https://id.example?x=1"}, "query"),
            ({"url": "https://id.example#x"}, "fragment"),
            ({"url": "https://me:secret@id.example"}, "without user"),
            ({"url": "https://[::1"}, "not a URL"),
            ({"url": "https://id.example:99999"}, "not a URL"),
            ({"url": "https://id.example/ x"}, "a URL with a host"),
            ({"metadata_url": "http://id.example/x"}, "metadata_url"),
            ({"preset": "okta"}, "standard, keycloak, entra"),
            ({"algorithms": ()}, "algorithms"),
            ({"algorithms": ("RS256", "none")}, "algorithms"),
            ({"algorithms": ("HS256",)}, "algorithms"),
            ({"clients": {}}, "no token is accepted"),
            ({"clients": {}, "audiences": ("x",)}, "any_client"),
            ({"scopes": {"x": ("light.reed",)}}, "light.reed"),
            ({"default_scopes": ("openid",)}, "openid"),
            ({"leeway": -1.0}, "leeway"),
            ({"leeway": float("nan")}, "leeway"),
            ({"max_lifetime": 0.0}, "max_lifetime"),
            ({"keys_max_age": 1.0}, "keys_max_age"),
        ],
    )
    def test_that_contradicts_itself_is_refused_with_what_is_wrong(self, wrong: dict[str, Any], word: str) -> None:
        with pytest.raises(ValueError, match=word):
            profile(**wrong)

    def test_with_a_field_that_there_is_not_is_refused(self) -> None:
        with pytest.raises(msgspec.ValidationError, match="audience"):
            msgspec.convert({"url": URL, "audience": "x", "clients": {"a": "b"}}, IssuerProfile)

    @pytest.mark.parametrize("url", ["http://localhost:8080/x", "http://127.0.0.1", "http://127.8.9.1:1", "http://[::1]:4000"])
    def test_may_be_of_an_issuer_on_this_machine_without_tls(self, url: str) -> None:
        assert profile(url=url).url == url

    @pytest.mark.parametrize(
        "host", ["localhost.example", "127.0.0.1.example", "0.0.0.0", "10.0.0.1", "[::]", "[::ffff:8.8.8.8]"]
    )
    def test_takes_nothing_else_for_this_machine(self, host: str) -> None:
        assert find_problem_of_url(f"http://{host}/") is not None

    def test_allows_no_symmetric_algorithm_at_all(self) -> None:
        assert not [name for name in ALGORITHMS if name.lower() == "none" or name.startswith("HS")]


class TestKinds:
    @pytest.mark.parametrize(
        ("preset", "typ", "claims", "kind"),
        [
            ("standard", "at+jwt", {"client_id": "app"}, TokenKind.ACCESS),
            ("standard", "application/AT+JWT", {}, TokenKind.ACCESS),
            ("standard", "JWT", {"nonce": "n"}, TokenKind.ID),
            ("standard", None, {}, TokenKind.ID),
            ("standard", "JWT", {"client_id": "app"}, None),
            ("standard", "JWT", {"events": {}}, None),
            ("standard", "logout+jwt", {}, None),
            ("standard", "dpop+jwt", {}, None),
            ("keycloak", "JWT", {"typ": "Bearer"}, TokenKind.ACCESS),
            ("keycloak", "JWT", {"typ": "ID"}, TokenKind.ID),
            ("keycloak", "JWT", {"typ": "Refresh"}, None),
            ("keycloak", "JWT", {"typ": "Logout"}, None),
            ("keycloak", "JWT", {}, None),
            ("entra", "JWT", {"ver": "2.0", "scp": "Home.Read", "azp": "1"}, TokenKind.ACCESS),
            ("entra", "JWT", {"ver": "2.0", "nonce": "1"}, TokenKind.ID),
            ("entra", "JWT", {"ver": "1.0", "scp": "Home.Read", "appid": "1"}, None),
        ],
    )
    def test_are_told_apart_as_the_product_writes_them(
        self, preset: str, typ: str | None, claims: dict[str, Any], kind: TokenKind | None
    ) -> None:
        assert profile(preset=preset).find_kind(typ, claims) is kind

    def test_can_be_told_apart_by_marks_of_ones_own(self) -> None:
        mine = profile(
            access_mark=TokenMark(claims={"token_use": ("access",)}), id_mark=TokenMark(claims={"token_use": ("id",)})
        )
        assert mine.find_kind("JWT", {"token_use": "access"}) is TokenKind.ACCESS
        assert mine.find_kind("JWT", {"token_use": "id"}) is TokenKind.ID
        assert mine.find_kind("at+jwt", {"token_use": ["id"]}) is None

    def test_a_token_that_could_be_both_is_neither(self) -> None:
        both = profile(access_mark=TokenMark(present=("a",)), id_mark=TokenMark(present=("b",)))
        assert both.find_kind(None, {"a": 1, "b": 1}) is None

    def test_a_mark_that_says_nothing_is_refused(self) -> None:
        with pytest.raises(ValueError, match="every token"):
            TokenMark()

    @settings(max_examples=examples(40))
    @given(st.none() | st.text(), st.dictionaries(st.text(), st.none() | st.text() | st.integers() | st.lists(st.text())))
    def test_no_token_has_two(self, typ: str | None, claims: dict[str, Any]) -> None:
        for preset in PRESETS:
            fitting = [mark.matches(typ, claims) for mark in PRESETS[preset].marks.values()]
            assert sum(fitting) <= 1


class TestScopes:
    @pytest.mark.parametrize(
        ("claims", "scopes"),
        [
            ({"scope": "topology.read openid light.read"}, {"topology.read", "light.read"}),
            ({"scope": ["topology.read", 7, "light.read"]}, {"topology.read", "light.read"}),
            ({"scope": ""}, set()),
            ({"scope": "TOPOLOGY.READ topology.readx"}, set()),
            ({"scope": 7}, {"safety.read"}),
            ({}, {"safety.read"}),
        ],
    )
    def test_are_read_as_text_or_list_and_only_ours_count(self, claims: dict[str, Any], scopes: set[str]) -> None:
        assert profile(default_scopes=("safety.read",)).map_scopes(claims) == scopes

    def test_are_mapped_from_what_the_issuer_calls_them(self) -> None:
        mapped = profile(
            scope_claims=("scp", "realm_access.roles", "https://id.example/roles"),
            scopes={"reader": ("topology.read", "light.read"), "light.read": (), "boss": (MANAGE_SCOPE,)},
        )
        claims = {"scp": ["light.read"], "realm_access": {"roles": ["reader"]}, "https://id.example/roles": "boss"}
        assert mapped.map_scopes(claims) == {"topology.read", "light.read", MANAGE_SCOPE}
        assert mapped.map_scopes({"scp": "light.read"}) == frozenset()

    def test_to_manage_the_gateway_is_never_taken_at_its_word(self) -> None:
        assert profile().map_scopes({"scope": f"{MANAGE_SCOPE} light.read"}) == {"light.read"}

    @settings(max_examples=examples(30))
    @given(
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(), lambda of: st.lists(of) | st.dictionaries(st.text(), of)
        )
    )
    def test_any_claim_gives_known_scopes_only(self, value: Any) -> None:
        for claims in ({"scope": value}, {"realm_access": value}, {"realm_access": {"roles": value}}):
            assert profile(preset="keycloak").map_scopes(claims) <= frozenset(Scope)


class TestEmails:
    @pytest.mark.parametrize("verified", [True, "true", 1, "1"])
    def test_that_are_verified_are_accepted(self, verified: object) -> None:
        assert profile().find_email({"email": "anna@example.com", "email_verified": verified}) == "anna@example.com"

    @pytest.mark.parametrize("verified", [None, False, "false", 0, "yes", [], [True], {}])
    def test_that_are_not_verified_are_refused(self, verified: object) -> None:
        assert profile().find_email({"email": "anna@example.com", "email_verified": verified}) is None

    def test_may_be_trusted_by_decision_and_come_from_another_claim(self) -> None:
        trusting = profile(trust_email=True, email_claim="preferred_username")
        assert trusting.find_email({"preferred_username": "anna@example.com"}) == "anna@example.com"
        assert trusting.find_email({"preferred_username": "anna"}) is None
        assert trusting.find_email({"email": "anna@example.com"}) is None

    def test_of_entra_are_vouched_for_by_its_own_claim(self) -> None:
        entra = profile(preset="entra")
        assert entra.find_email({"email": "anna@example.com", "email_verified": True}) is None
        assert entra.find_email({"email": "anna@example.com", "xms_edov": "1"}) == "anna@example.com"
