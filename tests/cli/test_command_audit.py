"""`domogate audit …` and `domogate signing-key …`."""

import asyncio
import json
import re
import sqlite3
from pathlib import Path

import pytest

from domogate.app import open_tools
from domogate.settings import Settings
from support.audit_export import find_broken_line
from support.command_line import CommandLine
from support.small_estate import EMAIL, INVITED, PLANT


def tamper(domogate: CommandLine, number: int) -> None:
    with sqlite3.connect(domogate.data / "domogate.sqlite3") as database:
        (table,) = {
            row[0] for row in database.execute("select name from sqlite_master where name like '%audit%' and type='table'")
        }
        columns = [row[1] for row in database.execute(f"pragma table_info({table})")]
        body = "entry" if "entry" in columns else "action"
        database.execute(f"update {table} set {body} = replace({body}, 'issued', 'missed') where number = ?", (number,))
    database.close()


class TestAuditList:
    def test_what_commands_did_is_noted_without_names(self, small: CommandLine) -> None:
        small.good("key", "issue", "our app")
        small.good("user", "standing", EMAIL, "terms-expired")
        records = small.read("audit", "list")
        assert [record["entry"]["action"] for record in records] == ["user changed", "key issued", "estate imported"]
        assert {record["entry"]["who"] for record in records} == {"command line"}
        assert EMAIL not in json.dumps(records)
        assert "key issued" in small.good("audit", "list")

    def test_it_is_narrowed_by_action_user_time_and_number(self, small: CommandLine) -> None:
        small.good("key", "issue", "our app")
        small.good("user", "standing", EMAIL, "good")
        assert len(small.read("audit", "list", "--action", "key issued")) == 1
        assert [one["entry"]["action"] for one in small.read("audit", "list", "--user", EMAIL)] == ["user changed"]
        assert len(small.read("audit", "list", "--last", "1h")) == 3
        assert [one["number"] for one in small.read("audit", "list", "--after", "1", "--limit", "1")] == [3]

    def test_the_newest_is_first_and_the_next_page_is_named(self, small: CommandLine) -> None:
        for number in range(4):
            small.good("key", "issue", f"app {number}")
        assert [one["number"] for one in small.read("audit", "list")] == [5, 4, 3, 2, 1]
        page = small.run("audit", "list", "--limit", "2")
        assert [line.split()[0] for line in page.stdout.splitlines()[1:]] == ["5", "4"]
        assert "--before 4" in page.stderr
        assert [one["number"] for one in small.read("audit", "list", "--before", "4", "--limit", "2")] == [3, 2]
        assert [one["number"] for one in small.read("audit", "list", "--before", "4", "--after", "2")] == [3]

    def test_the_table_has_names_and_the_json_has_the_stored_pseudonyms(self, small: CommandLine) -> None:
        small.good("user", "standing", EMAIL, "good")
        small.good("plant", "allow", PLANT, INVITED)
        key_id = small.read("key", "issue", "our app")["id"]
        key, allowed, changed, _ = small.good("audit", "list").splitlines()[1:]
        assert "key:our app" in key
        assert key_id not in key
        assert "plant:Small house" in allowed
        assert INVITED in allowed
        assert f"user:{EMAIL}" in changed
        stored = json.dumps(small.read("audit", "list"))
        assert PLANT in stored
        assert not any(name in stored for name in (EMAIL, INVITED, "Small house"))

    def test_a_deleted_user_has_no_name(self, small: CommandLine) -> None:
        small.good("user", "password-link", INVITED)
        small.good("user", "delete", INVITED, "--yes")
        assert INVITED not in small.good("audit", "list")

    def test_an_unknown_user_and_a_bad_time_are_said(self, small: CommandLine) -> None:
        assert "user list" in small.refused("audit", "list", "--user", "nobody@example.com")
        assert "90d" in small.refused("audit", "list", "--last", "soon")


class TestAuditVerify:
    def test_a_whole_log_is_good_and_its_hash_is_told(self, small: CommandLine) -> None:
        last = small.good("audit", "verify").strip()
        assert re.fullmatch("[0-9a-f]{64}", last)
        small.good("key", "issue", "our app")
        small.good("audit", "verify", "--last-hash", last)

    def test_what_is_left_when_old_records_were_removed_is_good_too(self, small: CommandLine) -> None:
        for number in range(3):
            small.good("key", "issue", f"app {number}")

        async def prune() -> None:
            async with open_tools(Settings(data=small.data)) as tools:
                times = [record.entry.at for record in await tools.store.list_audit(0, 10)]
                await tools.store.prune_audit(times[2])

        asyncio.run(prune())
        result = small.run("audit", "verify")
        assert result.exit_code == 0, result.stderr
        assert "All 3 records" in result.stderr
        assert "2 older records were removed" in result.stderr
        assert small.read("audit", "list")[0]["entry"]["action"] == "entries removed"
        assert json.loads(small.good("audit", "verify", "--json"))["removed"] == 2
        tamper(small, 3)
        result = small.run("audit", "verify")
        assert result.exit_code == 1
        assert "record 3" in result.stderr

    def test_a_changed_record_is_found_and_a_script_notices(self, small: CommandLine) -> None:
        small.good("key", "issue", "our app")
        tamper(small, 2)
        result = small.run("audit", "verify")
        assert result.exit_code == 1
        assert result.stderr == "domogate: record 2: The record was changed or moved: its hash does not match.\n"
        told = small.run("audit", "verify", "--json")
        assert told.exit_code == 1
        assert json.loads(told.stdout)["broken"]["number"] == 2

    def test_a_hash_that_no_record_has_is_found(self, small: CommandLine) -> None:
        assert small.run("audit", "verify", "--last-hash", "0" * 63 + "1").exit_code == 1


class TestAuditExport:
    def test_anybody_can_check_what_is_exported(self, small: CommandLine, tmp_path: Path) -> None:
        small.good("key", "issue", "our app")
        file = tmp_path / "audit.jsonl"
        small.good("audit", "export", str(file))
        lines = file.read_bytes().splitlines()
        assert len(lines) == 2
        assert find_broken_line(lines) is None
        assert small.good("audit", "export").encode().splitlines() == lines

    def test_a_file_is_replaced_only_by_force(self, small: CommandLine, tmp_path: Path) -> None:
        file = tmp_path / "audit.jsonl"
        file.write_text("mine")
        assert "--force" in small.refused("audit", "export", str(file))
        assert file.read_text() == "mine"
        small.good("audit", "export", str(file), "--force")
        assert file.read_text() != "mine"


class TestSigningKeys:
    def test_a_rotation_publishes_the_next_one(self, small: CommandLine) -> None:
        (current,) = small.read("signing-key", "list")
        assert current["state"] == "current"
        rotated = small.read("signing-key", "rotate")
        states = {key["kid"]: key["state"] for key in small.read("signing-key", "list")}
        assert states == {current["kid"]: "current", rotated["kid"]: "next"}
        assert rotated["retired"] == [current["kid"]]

    def test_an_emergency_asks_and_trusts_no_other(self, small: CommandLine) -> None:
        (current,) = small.read("signing-key", "list")
        assert "--yes" in small.refused("signing-key", "rotate", "--emergency", code=2)
        rotated = small.read("signing-key", "rotate", "--emergency", "--yes")
        states = {key["kid"]: key["state"] for key in small.read("signing-key", "list")}
        assert states == {current["kid"]: "distrusted", rotated["kid"]: "current"}

    def test_the_algorithm_may_be_another(self, small: CommandLine) -> None:
        assert small.read("signing-key", "rotate", "--signing-algorithm", "RS256")["algorithm"] == "RS256"

    @pytest.mark.slow
    def test_commands_with_another_setting_than_the_gateway_change_no_key(self, small: CommandLine) -> None:
        """Only a gateway changes the algorithm. The gateway may have its setting from a flag, which commands do not know."""
        small.good("signing-key", "rotate", "--emergency", "--yes", "--signing-algorithm", "RS256")
        keys = small.read("signing-key", "list")
        small.good("token", "issue", EMAIL)
        assert small.read("signing-key", "list") == keys
        assert {key["algorithm"] for key in keys} == {"RS256"}

    def test_nothing_private_is_printed(self, small: CommandLine) -> None:
        printed = small.good("signing-key", "list") + small.good("signing-key", "list", "--json")
        assert '"d"' not in printed
        assert "jwk" not in printed
