import pytest
from hypothesis import given
from hypothesis import strategies as st

from domogate.common.lru import LruCache


class TestRecent:
    @given(size=st.integers(2, 20), keys=st.lists(st.integers(0, 50), max_size=200))
    def test_it_never_holds_more_than_its_size_and_always_the_last(self, size: int, keys: list[int]) -> None:
        recent: LruCache[int, str] = LruCache(size)
        for key in keys:
            if recent.find(key) is None:
                recent.keep(key, str(key))
            assert recent.find(key) == str(key)
            assert len(recent) <= size

    @given(size=st.integers(4, 20), others=st.lists(st.integers(1, 1000), max_size=300))
    def test_what_is_used_all_the_time_is_never_forgotten(self, size: int, others: list[int]) -> None:
        recent: LruCache[int, str] = LruCache(size)
        recent.keep(0, "hot")
        for other in others:
            recent.keep(other, "cold")
            assert recent.find(0) == "hot"

    def test_what_is_not_used_is_forgotten_in_time(self) -> None:
        recent: LruCache[int, int] = LruCache(4)
        for number in range(10):
            recent.keep(number, number + 1)
        assert recent.find(0) is None

    def test_forgetting_reaches_both_generations(self) -> None:
        recent: LruCache[int, int] = LruCache(6)
        for number in range(5):
            recent.keep(number, number)
        recent.keep(0, 100)
        recent.forget(0)
        assert recent.find(0) is None
        recent.forget_where(lambda value: value % 2 == 1)
        assert [number for number in range(5) if recent.find(number) is not None] == [2, 4]
        recent.clear()
        assert len(recent) == 0

    def test_a_size_that_holds_nothing_is_refused(self) -> None:
        with pytest.raises(ValueError, match="at least 2"):
            LruCache(1)
