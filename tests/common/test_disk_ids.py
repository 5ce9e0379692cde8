"""A list of ids on disk."""

from domogate.common.disk_ids import DiskIds

MANY = [f"id-{number}" for number in range(1_200)]


class TestDiskIds:
    def test_different_ids_are_unique(self) -> None:
        with DiskIds() as ids:
            ids.add(MANY)
            assert ids.are_unique()

    def test_an_id_that_is_added_again_is_found(self) -> None:
        with DiskIds() as ids:
            ids.add(MANY)
            ids.add(MANY[700:701])
            assert not ids.are_unique()

    def test_it_tells_which_ids_are_missing(self) -> None:
        with DiskIds() as ids:
            ids.add(MANY[:1_100])
            assert ids.find_missing(MANY) == set(MANY[1_100:])
            assert ids.find_missing([]) == set()
