"""The checks of the limits that a guest gets."""

import pytest

from domogate.domain.limits import Limits
from domogate.services.people.guests import MOST_PLACES, check_limits
from domogate.services.refusals import Invalid
from support.clocks import NOW
from support.stores import GROUND, HALL, HOUSE_TOPOLOGY, KITCHEN, LAMP, PLUG, an_id


class TestLimits:
    def test_get_a_fixed_order_without_repetitions(self) -> None:
        wanted = Limits((GROUND.id,), (HALL.id, KITCHEN.id, HALL.id), (PLUG.id, LAMP.id), NOW - 5, NOW + 5)
        expected = Limits((GROUND.id,), (KITCHEN.id, HALL.id), (LAMP.id, PLUG.id), NOW - 5, NOW + 5)
        assert check_limits(wanted, HOUSE_TOPOLOGY, NOW) == expected

    @pytest.mark.parametrize("limits", [None, Limits()])
    def test_that_limit_nothing_are_none(self, limits: Limits | None) -> None:
        assert check_limits(limits, HOUSE_TOPOLOGY, NOW) is None

    @pytest.mark.parametrize(
        ("limits", "word"),
        [
            (Limits(floors=(KITCHEN.id,)), "no floor"),
            (Limits(ambients=(GROUND.id,)), "no ambient"),
            (Limits(modules=(an_id(404),)), "no module"),
            (Limits(modules=(LAMP.id,) * (MOST_PLACES + 1)), str(MOST_PLACES)),
            (Limits(valid_until=NOW), "future"),
            (Limits(valid_from=NOW + 9, valid_until=NOW + 9), "after the start"),
            (Limits(valid_from=-1.0), "1970"),
            (Limits(valid_until=1e12), "9999"),
            (Limits(valid_from=float("nan")), "1970"),
        ],
    )
    def test_that_make_no_sense_are_refused(self, limits: Limits, word: str) -> None:
        with pytest.raises(Invalid, match=word):
            check_limits(limits, HOUSE_TOPOLOGY, NOW)
