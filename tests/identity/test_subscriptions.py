import json
import re

import pytest

from domogate.common.secrets import hash_secret
from domogate.estate.resources import schema_text
from domogate.identity.subscriptions import new_key, new_subscription


class TestNewKey:
    def test_keys_have_a_prefix_and_160_random_bits_in_readable_characters(self) -> None:
        keys = {new_key() for _ in range(200)}
        assert len(keys) == 200
        assert all(re.fullmatch(r"dgk_[a-z2-7]{32}", key) for key in keys)


class TestNewSubscription:
    def test_it_keeps_the_hash_and_a_hint_but_not_the_key(self) -> None:
        key = new_key()
        subscription = new_subscription("demo app", key, 5.0, rate="10/second", daily_quota=100, expires_at=9.0)
        assert subscription.key_hash == hash_secret(key)
        assert re.fullmatch(r"[0-9a-f]{64}", subscription.key_hash)
        assert subscription.hint == key[:8]
        assert key not in repr(subscription)
        assert (subscription.rate, subscription.daily_quota) == ("10/second", 100)
        assert (subscription.created_at, subscription.expires_at, subscription.revoked_at) == (5.0, 9.0, None)

    def test_the_hint_of_a_short_key_gives_little_away(self) -> None:
        assert new_subscription("x", "12345678", 0.0).hint == "12"

    @pytest.mark.parametrize(
        "key", ["", "short", "with space in it", "späte-schlüssel", "tab\tinside", "x" * 257, "abcdefgh\n"]
    )
    def test_a_key_no_header_can_carry_is_refused(self, key: str) -> None:
        with pytest.raises(ValueError, match="visible ASCII"):
            new_subscription("x", key, 0.0)

    def test_a_rate_that_cannot_be_read_is_refused(self) -> None:
        with pytest.raises(ValueError, match="10 per second"):
            new_subscription("x", new_key(), 0.0, rate="10 per second")

    @pytest.mark.parametrize("quota", [0, -1])
    def test_a_quota_below_one_is_refused(self, quota: int) -> None:
        with pytest.raises(ValueError, match="at least 1"):
            new_subscription("x", new_key(), 0.0, daily_quota=quota)

    def test_the_largest_quota_is_the_largest_quota_of_an_estate_file(self) -> None:
        largest = json.loads(schema_text())["$defs"]["subscription"]["properties"]["dailyQuota"]["maximum"]
        assert new_subscription("x", new_key(), 0.0, daily_quota=largest).daily_quota == largest
        with pytest.raises(ValueError, match="at most"):
            new_subscription("x", new_key(), 0.0, daily_quota=largest + 1)
