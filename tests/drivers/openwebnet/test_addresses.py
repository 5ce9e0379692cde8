"""The key of each address, and the points that a group address includes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domogate.drivers.openwebnet.addresses import Scope, find_key, parse_meter, parse_where, parse_zone


class TestLightingAndAutomation:
    @pytest.mark.parametrize(
        ("written", "scope"),
        [
            ("0", Scope.GENERAL),
            ("0#4#01", Scope.GENERAL),
            ("00", Scope.AREA),
            ("9", Scope.AREA),
            ("100", Scope.AREA),
            ("#255", Scope.GROUP),
            ("11", Scope.POINT),
            ("0115", Scope.POINT),
            ("0015", Scope.POINT),
            ("1001", Scope.POINT),
            ("11#4#02", Scope.POINT),
        ],
    )
    def test_how_much_is_meant(self, written: str, scope: Scope) -> None:
        where = parse_where(written)
        assert where is not None
        assert where.scope is scope

    @pytest.mark.parametrize("written", ["", "#0", "#256", "10", "1116", "1101", "123", "12345", "11#4", "11#5#01", "x"])
    def test_what_is_no_address(self, written: str) -> None:
        assert parse_where(written) is None

    @pytest.mark.parametrize(("one", "other"), [("11", "0101"), ("11", "11#3"), ("99", "0909"), ("11#4#02", "0101#4#2")])
    def test_the_same_point_written_otherwise(self, one: str, other: str) -> None:
        assert find_key(1, one) == find_key(1, other)

    @pytest.mark.parametrize(
        ("many", "point", "meant"),
        [
            ("0", "11", True),
            ("0", "11#4#02", True),
            ("0#4#02", "11#4#02", True),
            ("0#4#02", "11#4#03", False),
            ("0#4#02", "11", False),
            ("1", "11", True),
            ("1", "0115", True),
            ("1", "21", False),
            ("1", "11#4#02", False),
            ("00", "0001", True),
            ("100", "1015", True),
            ("#7", "11", True),
            ("#8", "11", False),
            ("11", "11", True),
            ("12", "11", False),
        ],
    )
    def test_which_points_an_address_includes(self, many: str, point: str, meant: bool) -> None:
        said_to, heard_by = parse_where(many), parse_where(point)
        assert said_to is not None
        assert heard_by is not None
        assert said_to.includes(heard_by, frozenset({7})) is meant


class TestOthers:
    @pytest.mark.parametrize(
        ("written", "zone"),
        [
            ("1", 1),
            ("99", 99),
            ("#1", 1),
            ("#0", 0),
            ("#0#3", 3),
            ("3#1", 3),
            ("0", None),
            ("001", None),
            ("101", None),
            ("", None),
        ],
    )
    def test_zones(self, written: str, zone: int | None) -> None:
        assert parse_zone(written) == zone

    @pytest.mark.parametrize(
        ("written", "meter"), [("51", "51"), ("5255", "5255"), ("71#0", "71"), ("71", "71"), ("61", None), ("5", None)]
    )
    def test_meters(self, written: str, meter: str | None) -> None:
        assert parse_meter(written) == meter

    @given(st.integers(0, 99_999), st.text("0123456789#*", max_size=12))
    def test_no_address_is_too_strange(self, who: int, where: str) -> None:
        key = find_key(who, where)
        assert key == where if who not in (1, 2, 4, 18) else key != ""
