"""Each row of the tables "When something fails" in docs/cluster.md and docs/operations/failures.md has tests: here is which."""

import ast

import pytest

from support.markdown import section, tables
from support.named_code import ROOT

pytestmark = pytest.mark.slow

MOVES, FAILURES = "end_to_end/test_cluster_moves.py", "end_to_end/test_cluster_failures.py"
LOST = "cli/test_lost_and_damaged.py"
OF_A_CLUSTER: dict[str, tuple[str, ...]] = {
    "a gateway is stopped (SIGTERM)": (
        f"{MOVES}::test_moves_without_an_error_when_its_gateway_is_stopped",
        "end_to_end/test_stopped_members.py::test_every_request_is_answered_while_members_stop_one_after_the_other",
        "end_to_end/test_told_members.py::test_no_request_waits_for_a_timer_while_gateways_stop_and_start",
        "services/cluster/test_membership.py::test_the_others_drive_within_a_second",
    ),
    "a gateway crashes or is frozen": (
        f"{MOVES}::test_moves_without_an_error_when_its_gateway_is_killed",
        f"{MOVES}::test_is_not_changed_by_a_gateway_that_was_frozen",
        "services/cluster/test_membership.py::test_the_others_drive_within_ten_seconds_after_a_crash",
        "services/cluster/test_propagation.py::test_delays_writes_by_the_bound_and_then_no_more",
    ),
    "a gateway loses its connection to the database": (
        f"{FAILURES}::test_gives_its_plants_away_and_is_not_ready",
        "services/cluster/test_membership.py::test_a_member_that_cannot_renew_stops_before_its_lease_ends",
    ),
    "a gateway loses only its connection to NATS": (f"{MOVES}::test_moves_when_only_its_gateway_is_cut_off_from_nats",),
    "all NATS servers": (
        f"{FAILURES}::test_without_a_nats_server_each_gateway_drives_its_own_plants",
        "services/cluster/test_membership.py::test_nobody_gives_shards_away_if_nobody_is_connected",
    ),
    "PostgreSQL stops": (
        f"{FAILURES}::test_that_stops_makes_all_gateways_not_ready_until_it_runs_again",
        "end_to_end/test_hung_database.py::test_every_request_is_answered_in_time_and_all_is_well_afterwards",
    ),
    "fail-over of PostgreSQL to a standby": (f"{FAILURES}::test_can_be_replaced_by_a_standby_with_the_same_address",),
    "the disk of PostgreSQL is full": (f"{FAILURES}::test_that_has_no_space_refuses_commands_and_states_can_be_read",),
    "the disk of a gateway is full": (f"{FAILURES}::test_whose_disk_is_full_works",),
    "the balancer": (f"{FAILURES}::test_without_a_balancer_the_gateways_drive_their_plants",),
    "the network splits into two parts": (f"{FAILURES}::test_gives_its_plants_away_and_is_not_ready",),
    "the clock of a gateway is wrong": (
        f"{FAILURES}::test_with_a_wrong_clock_uses_the_time_of_the_database",
        "services/cluster/test_membership.py::test_the_clocks_of_all_members_show_the_time_of_the_database",
    ),
    "the clock of the database server is wrong": (
        "services/test_clock_check.py::test_a_clock_that_is_far_off_is_wrong_until_it_is_right_again",
        "services/test_clock_check.py::test_nothing_is_removed_by_a_wrong_clock_and_all_is_pruned_again_when_it_is_confirmed",
    ),
    "a migration or an import of an estate file has the lock for writing": (
        "stores/test_cluster_locks.py::test_a_held_lock_stops_only_its_own_writes",
        "stores/test_import_in_parts.py::test_writes_of_others_go_on_meanwhile",
    ),
}


OF_ONE_GATEWAY: dict[str, tuple[str, ...]] = {
    "the disk is full": (
        "crash/test_full_disk.py::test_writes_are_refused_reads_go_on_and_nothing_is_lost",
        "crash/test_faults.py::test_of_disk_process_and_clock_lose_nothing",
        "cli/test_doctor.py::test_little_space",
    ),
    "the disk refuses writes or becomes read-only": (
        "crash/test_full_disk.py::test_writes_are_refused_until_the_disk_is_repaired_and_nothing_is_lost",
        "crash/test_full_disk.py::test_the_gateway_notices_it_without_a_request_and_recovers",
        "stores/test_refused_writes.py::test_writes_are_refused_and_work_again_and_nothing_is_lost",
        "crash/test_faults.py::test_of_disk_process_and_clock_lose_nothing",
    ),
    "the disk is full or read-only at the start": (
        f"{LOST}::test_a_backup_has_everything",
        "stores/test_refused_writes.py::test_a_gateway_that_cannot_write_at_its_start_says_why",
        "stores/test_refused_writes.py::test_a_gateway_that_starts_on_a_full_disk_says_so",
        "cli/test_doctor.py::test_a_read_only_disk",
    ),
    "the database file is lost or empty": (f"{LOST}::test_every_command_stops_and_says_how_to_restore",),
    "the database file is damaged at the start": (
        f"{LOST}::test_a_file_of_something_else",
        f"{LOST}::test_a_file_that_was_cut",
        f"{LOST}::test_one_page_of_a_table",
    ),
    "the write-ahead log is damaged": (
        f"{LOST}::test_a_log_with_garbage",
        f"{LOST}::test_a_log_that_ends_early_is_used",
    ),
    "damage is found while the gateway runs": (f"{LOST}::test_the_gateway_stops_and_says_why",),
    "the data folder is lost": (
        "crash/test_restore_drill.py::test_all_that_was_acknowledged_before_the_newest_backup_comes_back",
    ),
    "the secret key is missing": (
        "cli/test_command_secret_key.py::test_without_it_no_command_works_and_the_message_says_what_is_missing",
    ),
    "the database has the tables of a newer version": (
        f"{LOST}::test_every_command_stops_and_names_both_versions",
        f"{LOST}::test_its_backup_is_not_restored",
    ),
    "a backup on a schedule fails": (
        "services/test_backups.py::test_old_backups_stay_and_it_is_tried_again",
        "stores/test_backup_folder.py::test_without_enough_space_nothing_is_written",
    ),
    "the process is killed, or the power fails": (
        "crash/test_kill.py::test_no_acknowledged_command_is_lost_and_the_database_is_intact",
    ),
    "a renewed certificate cannot be used": (
        "edge/test_certificates.py::test_a_file_that_is_no_certificate",
        "edge/test_certificates.py::test_a_key_of_another_certificate",
        "edge/test_certificates.py::test_a_key_with_a_passphrase_is_refused_and_nobody_is_asked",
        "edge/test_certificates.py::test_a_file_that_is_gone",
        "edge/test_certificates.py::test_good_files_after_broken_ones_are_used",
    ),
    "a second gateway is started on the same data": (
        "cli/test_second_gateway.py::test_a_second_gateway_is_refused_until_the_first_has_ended",
    ),
    "the clock is set while the gateway runs": (
        "crash/test_clock_leaps.py::test_of_hours_and_of_years_in_both_directions",
        "services/test_clock_check.py::test_a_clock_that_was_set_is_logged_once",
        "services/test_backups.py::test_after_a_leap_there_is_still_one_each_day",
    ),
    "the clock is wrong at the start": (
        "end_to_end/test_wrong_clock.py::test_the_log_the_health_check_and_the_command_line_say_so",
        "crash/test_clock_leaps.py::test_of_hours_and_of_years_in_both_directions",
    ),
    "another process holds the lock of the database": (
        "stores/test_deadlines.py::test_a_write_is_done_when_the_lock_is_free_in_time",
        "stores/test_deadlines.py::test_a_caller_gives_up_by_its_deadline_and_a_report_waits_longer",
    ),
}
PAGES = {"cluster.md": OF_A_CLUSTER, "operations/failures.md": OF_ONE_GATEWAY}


@pytest.mark.parametrize("page", PAGES)
def test_each_row_has_tests(page: str) -> None:
    [table, *_] = tables(section((ROOT / "docs" / page).read_text(), "When something fails"))
    assert [row["what fails"] for row in table] == list(PAGES[page])
    assert all(PAGES[page].values())


class TestWhatIsSimulated:
    """A row says which fault the tests cause, if this is not the fault of the row."""

    @pytest.fixture
    def tested_with(self) -> dict[str, str]:
        [table, *_] = tables(section((ROOT / "docs" / "operations" / "failures.md").read_text(), "When something fails"))
        return {row["what fails"]: row["tested with"] for row in table}

    def test_each_row_says_it(self, tested_with: dict[str, str]) -> None:
        assert all(tested_with.values())

    @pytest.mark.parametrize(
        ("row", "means"),
        [
            (
                "the disk refuses writes or becomes read-only",
                ("`mount -o remount,abort`", "`RLIMIT_FSIZE`", "`PRAGMA query_only`"),
            ),
            ("the process is killed, or the power fails", ("`kill -9`", "No test cuts the power")),
        ],
    )
    def test_a_row_names_its_faults_and_what_is_missing(
        self, tested_with: dict[str, str], row: str, means: tuple[str, ...]
    ) -> None:
        assert [one for one in means if one not in tested_with[row]] == []


@pytest.mark.parametrize("name", sorted({name for tests in PAGES.values() for names in tests.values() for name in names}))
def test_the_named_test_exists(name: str) -> None:
    path, _, function = name.partition("::")
    tree = ast.parse((ROOT / "tests" / path).read_text())
    defined = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    assert function in defined
