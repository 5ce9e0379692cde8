import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domogate.identity.rates import RateWindow, RateWindows, parse_rate
from support.examples import examples


class TestParseRate:
    @pytest.mark.parametrize(
        ("text", "amount", "seconds"),
        [
            ("10/second", 10, 1),
            ("600/minute", 600, 60),
            ("5000/hour", 5000, 3600),
            ("20000/day", 20_000, 86_400),
            ("999999999/day", 999_999_999, 86_400),
        ],
    )
    def test_it_reads_a_number_a_slash_and_a_unit(self, text: str, amount: int, seconds: int) -> None:
        rate = parse_rate(text)
        assert (rate.amount, rate.seconds) == (amount, seconds)

    @pytest.mark.parametrize(
        "text",
        ["", "10", "/second", "10/", "10/week", "10 / second", "10/Second", "10/seconds", "0/second", "-1/second", "1.5/second",
         "1000000000/day", "010/second", "10/second\n", "10/second;5/minute", "١٠/second", "1e3/hour"],
    )  # fmt: skip
    def test_anything_else_is_refused_with_what_is_allowed(self, text: str) -> None:
        with pytest.raises(ValueError, match="N/second, N/minute, N/hour or N/day"):
            parse_rate(text)


class TestRateWindow:
    @settings(max_examples=examples(50))
    @given(
        amount=st.integers(1, 8),
        pauses=st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0, 3.0]), max_size=60),
    )
    def test_it_admits_exactly_the_rate_in_every_window(self, amount: int, pauses: list[float]) -> None:
        window, now = RateWindow(parse_rate(f"{amount}/second")), 1000.0
        admitted: list[float] = []
        for pause in pauses:
            now += pause
            within = [at for at in admitted if at + 1.0 > now]
            assert window.count(now) == len(within)
            assert window.admit(now) is (len(within) < amount)
            if len(within) < amount:
                admitted.append(now)

    @settings(max_examples=examples(50))
    @given(amount=st.integers(1, 40), pauses=st.lists(st.floats(0.0, 0.3), max_size=80))
    def test_at_any_pace_the_rate_holds_and_a_request_waits_at_most_a_thousandth_longer(
        self, amount: int, pauses: list[float]
    ) -> None:
        window, now = RateWindow(parse_rate(f"{amount}/second")), 1000.0
        admitted: list[float] = []
        for pause in pauses:
            now += pause
            if window.admit(now):
                admitted.append(now)
                assert sum(at + 1.0 > now for at in admitted) <= amount
            else:
                assert sum(at + 1.0 + 0.001001 > now for at in admitted) >= amount

    def test_it_tells_when_the_oldest_request_leaves_it(self) -> None:
        window = RateWindow(parse_rate("2/minute"))
        assert window.frees_at(1000.0) == 1060.0
        assert [window.admit(at) for at in (1000.0, 1010.0, 1020.0)] == [True, True, False]
        assert window.frees_at(1020.0) == 1060.0
        assert not window.admit(1059.9)
        assert window.admit(1060.0)
        assert window.frees_at(1060.0) == 1070.0

    def test_a_high_rate_needs_little_memory(self) -> None:
        window, now = RateWindow(parse_rate("999999999/hour")), 0.0
        for _ in range(20_000):
            now += 0.1
            assert window.admit(now)
        assert window.count(now) == 20_000
        assert len(window) <= 1_001

    def test_a_clock_set_back_does_not_lock_a_key_out(self) -> None:
        window = RateWindow(parse_rate("1/second"))
        assert window.admit(5000.0)
        assert window.admit(1400.0)


class TestRateWindows:
    def test_keys_do_not_share_a_window(self) -> None:
        windows, rate = RateWindows(), parse_rate("1/second")
        assert windows.find("a", rate).admit(0.0)
        assert windows.find("b", rate).admit(0.0)
        assert not windows.find("a", rate).admit(0.0)

    def test_a_changed_rate_starts_a_new_window(self) -> None:
        windows = RateWindows()
        assert windows.find("a", parse_rate("1/minute")).admit(0.0)
        assert windows.find("a", parse_rate("2/minute")).admit(0.0)

    def test_sweeping_forgets_only_empty_windows(self) -> None:
        windows = RateWindows()
        windows.find("short", parse_rate("5/second")).admit(0.0)
        windows.find("long", parse_rate("5/minute")).admit(0.0)
        windows.sweep(1.0)
        assert len(windows) == 1
