"""The limiter of the number of events in a time window."""

from domogate.common.window_limiter import WindowLimiter


def test_a_key_waits_until_its_span_ends() -> None:
    limiter = WindowLimiter(2, 10.0)
    for now in (100.0, 103.0):
        assert limiter.wait("a", now) == 0.0
        limiter.count("a", now)
    assert limiter.wait("a", 104.0) == 6.0
    assert limiter.wait("b", 104.0) == 0.0
    assert limiter.wait("a", 110.0) == 0.0
    limiter.count("a", 110.0)
    assert limiter.wait("a", 110.0) == 0.0


def test_a_clock_that_was_set_back_makes_nobody_wait_longer() -> None:
    limiter = WindowLimiter(1, 10.0)
    limiter.count("a", 100.0)
    assert limiter.wait("a", 50.0) == 0.0


def test_the_oldest_key_is_forgotten_first() -> None:
    limiter = WindowLimiter(1, 10.0, capacity=2)
    for key in ("a", "b", "a", "c"):
        limiter.count(key, 0.0)
    assert [limiter.wait(key, 0.0) for key in "abc"] == [10.0, 0.0, 10.0]
