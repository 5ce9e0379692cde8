"""From failures to an order: parts by reference, sums of quantities, and units without a known part."""

import hypothesis.strategies as st
from hypothesis import given

from domogate.domain.ids import Id
from domogate.domain.safety import FailureType, SparePart, SpareParts, SparePartType
from domogate.services.safety.order_list import PART_FOR, Need, OrderLine, order

BATTERY, LAMP = SparePartType.BATTERY, SparePartType.EMERGENCY_LAMP


def need(number: int, reference: str = "A", part: SparePartType = BATTERY) -> Need:
    return Need(Id(f"unit {number}"), f"Unit {number}", "", reference, part, (FailureType.BLOCK_FAULTY_BATTERY,))


def known(reference: str, *parts: SparePart) -> dict[str, SpareParts | None]:
    return {reference: SpareParts(reference, parts)}


class TestWhichFailures:
    def test_batteries_and_lamps_and_nothing_else_can_be_ordered(self) -> None:
        assert set(PART_FOR.values()) == set(SparePartType)
        assert {each for each in PART_FOR if "BATTERY" in each} == {each for each in FailureType if "BATTERY" in each}
        assert FailureType.BLOCK_OK not in PART_FOR


class TestQuantities:
    def test_they_are_added_over_units(self) -> None:
        parts = known("A", SparePart("B-1", BATTERY, "2"))
        (line,) = order([need(1), need(2), need(3)], parts).lines
        assert (line.reference, line.type, line.quantity) == ("B-1", BATTERY, "6")
        assert [each.name for each in line.needs] == ["Unit 1", "Unit 2", "Unit 3"]

    def test_units_of_different_references_may_want_the_same_part(self) -> None:
        parts = known("A", SparePart("B-1", BATTERY, "1")) | known("C", SparePart("B-1", BATTERY, "3"))
        (line,) = order([need(1), need(2, "C")], parts).lines
        assert line.quantity == "4"

    def test_only_parts_of_the_type_that_is_wanted(self) -> None:
        parts = known("A", SparePart("B-1", BATTERY, "1"), SparePart("L-1", LAMP, "2"))
        assert [(line.reference, line.quantity) for line in order([need(1, part=LAMP)], parts).lines] == [("L-1", "2")]

    def test_a_unit_that_takes_several_parts_of_a_type_gets_all(self) -> None:
        parts = known("A", SparePart("B-1", BATTERY, "1"), SparePart("B-2", BATTERY, "1"))
        assert [line.reference for line in order([need(1)], parts).lines] == ["B-1", "B-2"]

    def test_what_is_no_number_is_counted(self) -> None:
        parts = known("A", SparePart("B-1", BATTERY, "a pair")) | known("C", SparePart("B-1", BATTERY, "3"))
        assert order([need(1), need(2)], parts).lines[0].quantity == "2 x a pair"
        assert order([need(1), need(2, "C"), need(3)], parts).lines[0].quantity == "3 + 2 x a pair"

    @given(st.lists(st.tuples(st.sampled_from("AC"), st.sampled_from(SparePartType)), max_size=12))
    def test_nobody_is_forgotten(self, wants: list[tuple[str, SparePartType]]) -> None:
        parts = known("A", SparePart("B-1", BATTERY, "2")) | known("C", SparePart("L-1", LAMP, "5"))
        needs = [need(number, reference, part) for number, (reference, part) in enumerate(wants)]
        made = order(needs, parts)
        served = [each for line in made.lines for each in line.needs]
        assert sorted([*served, *made.without_parts], key=repr) == sorted(needs, key=repr)
        assert {line.reference: int(line.quantity) for line in made.lines} == {
            reference: amount * count
            for reference, amount, count in (("B-1", 2, wants.count(("A", BATTERY))), ("L-1", 5, wants.count(("C", LAMP))))
            if count
        }


class TestWithoutParts:
    def test_unknown_references_and_such_without_the_part_are_told(self) -> None:
        parts: dict[str, SpareParts | None] = {"A": None, **known("C"), **known("D", SparePart("L-1", LAMP, "1"))}
        needs = [need(1), need(2, "C"), need(3, "D")]
        made = order(needs, parts)
        assert made.lines == ()
        assert made.without_parts == tuple(needs)

    def test_no_failures_no_order(self) -> None:
        made = order([], {})
        assert (made.lines, made.without_parts) == ((), ())

    def test_lines_come_in_a_fixed_order(self) -> None:
        parts = known("A", SparePart("B-2", BATTERY, "1"), SparePart("B-1", BATTERY, "1"), SparePart("A-1", LAMP, "1"))
        lines: tuple[OrderLine, ...] = order([need(1, part=LAMP), need(1)], parts).lines
        assert [line.reference for line in lines] == ["B-1", "B-2", "A-1"]
