from collections import Counter

import hypothesis.strategies as st
from hypothesis import given, settings

from domogate.domain.ids import new_id
from domogate.domain.shards import SHARDS, choose_member, shard_of, share_of
from support.examples import examples
from support.stores import an_id

_members = st.sets(st.integers(1, 60).map(lambda number: str(an_id(number))), min_size=1, max_size=6)


def _placing(members: set[str]) -> list[str]:
    return [choose_member(shard, members) for shard in range(SHARDS)]


class TestShardOfAPlant:
    def test_it_never_changes(self) -> None:
        """A different result would let two versions drive the same plant."""
        assert [shard_of(an_id(number)) for number in (1, 2, 3)] == [872, 71, 262]

    def test_plants_are_spread_over_all_shards(self) -> None:
        counts = Counter(shard_of(new_id()) for _ in range(40 * SHARDS))
        assert len(counts) == SHARDS
        assert max(counts.values()) < 100


class TestShares:
    @settings(max_examples=examples(25), deadline=None)
    @given(_members, st.uuids().map(str))
    def test_a_joining_member_only_takes_shards(self, members: set[str], joining: str) -> None:
        before, after = _placing(members), _placing(members | {joining})
        moved = {new for old, new in zip(before, after, strict=True) if old != new}
        assert moved == {joining}

    @settings(max_examples=examples(25), deadline=None)
    @given(_members, st.uuids().map(str))
    def test_only_the_shards_of_a_leaving_member_move(self, members: set[str], leaving: str) -> None:
        before, after = _placing(members | {leaving}), _placing(members)
        assert {old for old, new in zip(before, after, strict=True) if old != new} == {leaving}

    def test_each_shard_belongs_to_one_member_and_shares_are_similar(self) -> None:
        members = [str(an_id(number)) for number in range(4)]
        shares = [share_of(member, members) for member in members]
        assert sorted(shard for share in shares for shard in share) == list(range(SHARDS))
        assert all(180 < len(share) < 340 for share in shares)

    def test_a_single_member_holds_everything(self) -> None:
        assert share_of("a", ["a"]) == frozenset(range(SHARDS))
