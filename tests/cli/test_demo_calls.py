"""The calls that the demo prints, and its greeting."""

import shlex
from pathlib import Path

import pytest

from domogate.cli._demo_calls import PROPOSALS, Call, find_calls
from domogate.cli._greeting import greeting
from domogate.cli._ready import Ready, ReadyUser, credentials_file
from domogate.domain.estate import Estate
from domogate.estate import demo_text, read_estate
from domogate.families import FAMILIES
from domogate.settings import Settings
from support.small_estate import SMALL_ESTATE


@pytest.fixture(scope="module")
def estate() -> Estate:
    """The demo estate, with every user who has a password active."""
    from msgspec.structs import replace

    told = read_estate(demo_text(), "demo")
    users = (replace(user, password_hash="x") if user.id in told.passwords else user for user in told.estate.users)
    return replace(told.estate, users=tuple(users))


@pytest.fixture
def ready(estate: Estate) -> Ready:
    users = [
        ReadyUser(user.email, "secret", f"id-{user.name}", f"access-{user.name}", f"refresh-{user.name}")
        for user in estate.users
        if user.active
    ]
    return Ready("http://127.0.0.1:1", "http://127.0.0.1:1/auth", "the-key", tuple(users))


class TestCalls:
    def test_every_family_has_one(self, estate: Estate) -> None:
        paths = [call.path for call in find_calls(estate)]
        assert [family.slug for family in FAMILIES if not any(path.startswith(family.prefix) for path in paths)] == []

    def test_every_proposal_is_an_operation_as_declared(self) -> None:
        declared = {
            operation.id: (family.name, operation.method, family.tokens)
            for family in FAMILIES
            for operation in family.operations
        }
        for proposal in PROPOSALS:
            if proposal.is_stream:
                continue  # belongs to no family
            _, method, tokens = declared[proposal.operation]
            assert (method == "POST") == (proposal.body is not None)
            assert proposal.token in tokens

    def test_every_proposal_finds_something_in_the_demo(self, estate: Estate) -> None:
        assert len(find_calls(estate)) == len(PROPOSALS)

    def test_only_users_who_can_call_are_proposed(self) -> None:
        assert find_calls(read_estate(SMALL_ESTATE, "small").estate) == []

    def test_a_curl_line_is_one_line_that_a_shell_reads_back(self, estate: Estate) -> None:
        call = next(call for call in find_calls(estate) if call.proposal.body)
        words = shlex.split(call.to_curl("http://127.0.0.1:1", Path("it's a folder/as/anna.id")))
        assert "@it's a folder/as/anna.id" in words
        assert words[words.index("-d") + 1] == call.proposal.body
        assert words[-1] == f"http://127.0.0.1:1{call.path}"
        assert isinstance(call, Call)


class TestReadme:
    def test_it_shows_what_the_demo_says(self, estate: Estate) -> None:
        readme = (Path(__file__).parents[2] / "README.md").read_text()
        lines = [
            call.to_curl("http://127.0.0.1:8080", credentials_file(Path("demo-data"), call.email, call.proposal.token))
            for call in find_calls(estate)
        ]
        assert [line for line in lines if line not in readme] == []


class TestGreeting:
    def test_it_tells_addresses_key_and_everybodys_password(self, ready: Ready, estate: Estate) -> None:
        text = greeting(Settings(data=Path("there")), ready, estate)
        for word in (ready.base_url, ready.auth_url, "the-key", "are public", *(user.email for user in estate.users)):
            assert word in text
        assert "(not active yet)" in text
        assert "(operator)" in text
        assert f"Open {ready.base_url}/ in a browser" in text
        assert "in a browser" not in greeting(Settings(console=False), ready, estate)

    @pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
    def test_loopback_needs_no_warning(self, ready: Ready, estate: Estate, host: str) -> None:
        assert "WARNING" not in greeting(Settings(host=host), ready, estate)

    @pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "gateway.example.com"])
    def test_any_other_address_is_warned_of(self, ready: Ready, estate: Estate, host: str) -> None:
        assert "WARNING" in greeting(Settings(host=host), ready, estate)
