"""Each row of the table "When something fails" in docs/cluster.md has tests. This file says which."""

import ast

import pytest

from support.markdown import section, tables
from support.named_code import ROOT

MOVES, FAILURES = "end_to_end/test_cluster_moves.py", "end_to_end/test_cluster_failures.py"
TESTS: dict[str, tuple[str, ...]] = {
    "a gateway is stopped (SIGTERM)": (
        f"{MOVES}::test_moves_without_an_error_when_its_gateway_is_stopped",
        "end_to_end/test_stopped_members.py::test_every_request_is_answered_while_members_stop_one_after_the_other",
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


def test_each_row_has_tests() -> None:
    [table, *_] = tables(section((ROOT / "docs" / "cluster.md").read_text(), "When something fails"))
    assert [row["what fails"] for row in table] == list(TESTS)


@pytest.mark.parametrize("name", sorted({name for names in TESTS.values() for name in names}))
def test_the_named_test_exists(name: str) -> None:
    path, _, function = name.partition("::")
    tree = ast.parse((ROOT / "tests" / path).read_text())
    defined = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    assert function in defined
