"""The checks of the kill rounds find the errors that they look for."""

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from support.kill_rounds import check_database, turns_in_history
from support.order_clients import Plug, Room


def make_room(*, on: bool, asked: bool | None = None) -> Room:
    return Room("plant", "room", {"a": Plug(on), "b": Plug(on)}, asked)


def make_database(path: Path, cursors: Sequence[int], states: Sequence[bool]) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE changes (cursor INTEGER PRIMARY KEY, event TEXT)")
        for cursor, on in zip(cursors, states, strict=True):
            event = {"was": "state", "module_id": "a", "state": {"of": "plug", "on": on}}
            connection.execute("INSERT INTO changes VALUES (?, ?)", (cursor, json.dumps(event)))
        connection.commit()
    return path


class TestTheLedger:
    def test_an_order_turns_the_room_over(self) -> None:
        room = make_room(on=False)
        assert room.ask() is True
        room.acknowledge()
        assert [(plug.on, plug.turned) for plug in room.plugs.values()] == [(True, 1), (True, 1)]

    def test_an_acknowledged_order_that_is_lost_is_noticed(self) -> None:
        with pytest.raises(AssertionError, match="an acknowledged order is lost"):
            make_room(on=True).reconcile({"a": [True], "b": [False]})

    def test_an_order_without_an_answer_may_have_been_carried_out_or_not_or_in_part(self) -> None:
        for seen in ([False, False], [True, True], [True, False]):
            room = make_room(on=False, asked=True)
            room.reconcile({"a": [seen[0]], "b": [seen[1]]})
            assert [plug.on for plug in room.plugs.values()] == seen
            assert [plug.perhaps_turned for plug in room.plugs.values()] == [1, 1]

    def test_an_order_without_an_answer_excuses_no_plug_that_was_so_already(self) -> None:
        room = Room("plant", "room", {"a": Plug(False), "b": Plug(True)}, asked=True)
        with pytest.raises(AssertionError, match="plug b"):
            room.reconcile({"a": [True], "b": [False]})


class TestTheDatabaseCheck:
    def test_a_missing_cursor_is_noticed(self, tmp_path: Path) -> None:
        with pytest.raises(AssertionError, match="there are gaps"):
            check_database(make_database(tmp_path / "db", [4, 5, 7], [True, False, True]))

    def test_the_newest_cursor_is_told(self, tmp_path: Path) -> None:
        assert check_database(make_database(tmp_path / "db", [4, 5, 6], [True, False, True])) == 6

    def test_turns_are_counted_and_repetitions_are_not(self, tmp_path: Path) -> None:
        states = [False, True, True, False, False, True]
        assert turns_in_history(make_database(tmp_path / "db", range(1, 7), states)) == {"a": 3}
