"""`domogate key …`."""

import hashlib
import re

import pytest

from support.command_line import CommandLine


@pytest.fixture(autouse=True)
def _empty_store(empty_store: CommandLine) -> None:
    """Each of these tests begins with an empty store."""


class TestKeyIssue:
    def test_it_prints_the_key_alone(self, domogate: CommandLine) -> None:
        assert re.fullmatch(r"\S{20,}\n", domogate.good("key", "issue", "our app"))

    def test_the_key_is_kept_as_a_hash_only(self, domogate: CommandLine) -> None:
        key = domogate.good("key", "issue", "our app").strip()
        kept = b"".join(file.read_bytes() for file in domogate.data.iterdir())
        assert key.encode() not in kept
        assert hashlib.sha256(key.encode()).hexdigest().encode() in kept

    def test_json_tells_key_id_and_limits(self, domogate: CommandLine) -> None:
        told = domogate.read("key", "issue", "our app", "--rate", "10/second", "--daily-quota", "500", "--expires-in", "2d")
        assert told["name"] == "our app"
        assert told["rate"] == "10/second"
        assert told["daily_quota"] == 500
        assert told["state"] == "good"
        assert told["created_at"] < told["expires_at"]
        assert told["key"].startswith(told["hint"])

    @pytest.mark.parametrize(
        ("flags", "word"),
        [
            (("--rate", "10/fortnight"), "N/minute"),
            (("--expires-in", "soon"), "90d"),
            (("--daily-quota", "0"), "quota"),
            (("--daily-quota", "9007199254740993"), "at most 9007199254740992"),
            (("--expires-in", "999999999d"), "366000d"),
        ],
    )
    def test_bad_limits_are_refused_and_nothing_is_issued(
        self, domogate: CommandLine, flags: tuple[str, ...], word: str
    ) -> None:
        result = domogate.run("key", "issue", "our app", *flags)
        assert result.exit_code in (1, 2)
        assert word in result.stderr
        assert domogate.read("key", "list") == []

    @pytest.mark.parametrize("name", ["two\nlines", "x" * 101, "\udcff"])
    def test_a_name_that_could_not_be_listed_is_refused(self, domogate: CommandLine, name: str) -> None:
        assert "name" in domogate.refused("key", "issue", name)
        assert domogate.read("key", "list") == []


class TestKeyList:
    def test_it_never_shows_a_key(self, domogate: CommandLine) -> None:
        key = domogate.good("key", "issue", "our app").strip()
        assert key not in domogate.good("key", "list") + domogate.good("key", "list", "--json")

    def test_a_long_line_is_not_cut(self, domogate: CommandLine) -> None:
        domogate.good("key", "issue", "a" * 100)
        assert "a" * 100 in domogate.good("key", "list")


class TestKeyRevoke:
    @pytest.mark.parametrize("by", ["id", "name"])
    def test_it_is_revoked(self, domogate: CommandLine, by: str) -> None:
        told = domogate.read("key", "issue", "our app")
        domogate.good("key", "revoke", told[by])
        (after,) = domogate.read("key", "list")
        assert after["state"] == "revoked"
        assert after["revoked_at"] is not None
        domogate.good("key", "revoke", told["id"])
        assert len(domogate.read("audit", "list", "--action", "key revoked")) == 1

    def test_a_name_that_several_keys_have_is_not_enough(self, domogate: CommandLine) -> None:
        ids = [domogate.read("key", "issue", "twin")["id"] for _ in range(2)]
        said = domogate.refused("key", "revoke", "twin")
        assert all(identity in said for identity in ids)
        assert [key["state"] for key in domogate.read("key", "list")] == ["good", "good"]

    def test_an_unknown_one_is_refused(self, domogate: CommandLine) -> None:
        assert "key list" in domogate.refused("key", "revoke", "nobody")
