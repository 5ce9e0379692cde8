import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from limits.strategies import FixedWindowRateLimiter, MovingWindowRateLimiter

from domogate.identity.rates import MovingWindows, parse_rate
from support.examples import examples
from support.identity import ManualClock


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
        item = parse_rate(text)
        assert (item.amount, item.get_expiry()) == (amount, seconds)

    @pytest.mark.parametrize(
        "text",
        ["", "10", "/second", "10/", "10/week", "10 / second", "10/Second", "10/seconds", "0/second", "-1/second", "1.5/second",
         "1000000000/day", "010/second", "10/second\n", "10/second;5/minute", "١٠/second", "1e3/hour"],
    )  # fmt: skip
    def test_anything_else_is_refused_with_what_is_allowed(self, text: str) -> None:
        with pytest.raises(ValueError, match="N/second, N/minute, N/hour or N/day"):
            parse_rate(text)


class TestMovingWindows:
    @settings(max_examples=examples(50))
    @given(
        amount=st.integers(1, 8),
        pauses=st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0, 3.0]), max_size=60),
    )
    def test_no_window_ever_holds_more_than_the_rate_and_none_is_refused_for_nothing(
        self, amount: int, pauses: list[float]
    ) -> None:
        clock = ManualClock(1000.0)
        limiter = MovingWindowRateLimiter(MovingWindows(clock))
        item = parse_rate(f"{amount}/second")
        admitted: list[float] = []
        for pause in pauses:
            clock.advance(pause)
            within = [at for at in admitted if at + 1.0 > clock.now()]
            assert limiter.get_window_stats(item, "k").remaining == amount - len(within)
            assert limiter.hit(item, "k") is (len(within) < amount)
            if len(within) < amount:
                admitted.append(clock.now())

    @settings(max_examples=examples(50))
    @given(amount=st.integers(1, 40), pauses=st.lists(st.floats(0.0, 0.3), max_size=80))
    def test_at_any_pace_the_rate_holds_and_a_request_waits_at_most_a_thousandth_longer(
        self, amount: int, pauses: list[float]
    ) -> None:
        clock = ManualClock(1000.0)
        limiter = MovingWindowRateLimiter(MovingWindows(clock))
        item = parse_rate(f"{amount}/second")
        admitted: list[float] = []
        for pause in pauses:
            clock.advance(pause)
            if limiter.hit(item, "k"):
                admitted.append(clock.now())
                assert sum(at + 1.0 > clock.now() for at in admitted) <= amount
            else:
                assert sum(at + 1.0 + 0.001001 > clock.now() for at in admitted) >= amount

    def test_a_great_rate_costs_no_great_memory(self) -> None:
        clock = ManualClock()
        windows = MovingWindows(clock)
        limiter = MovingWindowRateLimiter(windows)
        item = parse_rate("999999999/hour")
        for _ in range(20_000):
            clock.advance(0.1)
            assert limiter.hit(item, "k")
        (window,) = windows._windows.values()
        assert window.count == 20_000
        assert len(window._slices) <= 1_001

    def test_keys_do_not_share_a_window(self) -> None:
        limiter = MovingWindowRateLimiter(MovingWindows(ManualClock()))
        item = parse_rate("1/second")
        assert limiter.hit(item, "a")
        assert limiter.hit(item, "b")
        assert not limiter.hit(item, "a")

    def test_a_clock_set_back_does_not_lock_a_key_out(self) -> None:
        clock = ManualClock()
        limiter = MovingWindowRateLimiter(MovingWindows(clock))
        item = parse_rate("1/second")
        assert limiter.hit(item, "a")
        clock.advance(-3600.0)
        assert limiter.hit(item, "a")

    def test_sweeping_forgets_only_empty_windows(self) -> None:
        clock = ManualClock()
        windows = MovingWindows(clock)
        limiter = MovingWindowRateLimiter(windows)
        limiter.hit(parse_rate("5/second"), "short")
        limiter.hit(parse_rate("5/minute"), "long")
        clock.advance(1.0)
        windows.sweep()
        assert windows.reset() == 1

    def test_it_is_a_whole_storage_of_the_library(self) -> None:
        clock = ManualClock(1000.0)
        windows = MovingWindows(clock)
        limiter = FixedWindowRateLimiter(windows)
        item = parse_rate("2/minute")
        assert [limiter.hit(item, "a") for _ in range(3)] == [True, True, False]
        assert windows.check()
        assert windows.get_expiry(item.key_for("a")) == 1060.0
        assert windows.get_expiry("nothing") == 1000.0
        limiter.clear(item, "a")
        assert windows.get(item.key_for("a")) == 0
        assert limiter.hit(item, "a")
