"""The list of databases that a data folder was used with."""

from pathlib import Path

import pytest

from domogate.stores.inspection import DatabaseUnusable, UsedDatabases
from support.read_only import read_only_copy


def test_a_folder_that_cannot_be_written_is_named_with_what_to_change(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    with read_only_copy(tmp_path / "data", tmp_path / "copy") as folder, pytest.raises(DatabaseUnusable) as told:
        UsedDatabases(folder).add("postgresql://host/name")
    assert f"{folder / 'in-use'} cannot be written: " in str(told.value)
    assert f"must be able to write to its data folder {folder}. Check the rights" in str(told.value)
