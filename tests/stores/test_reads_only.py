"""Stores that only read, for short commands (Decision 0142)."""

from pathlib import Path

import pytest

from domogate.domain.ids import new_id
from domogate.domain.people import Subscription
from domogate.stores import SqlStore, sqlite_url
from domogate.stores.keys import SqlKeys
from support.clocks import ManualClock

KEY = Subscription(new_id(), "Demo", "00" * 32, "demo-s")


async def test_a_store_that_only_reads_finds_what_another_store_wrote_and_refuses_to_write(tmp_path: Path) -> None:
    url, clock = sqlite_url(tmp_path / "x.db"), ManualClock()
    whole, part = SqlStore(url, clock=clock), SqlKeys(url, clock=clock, gateway=False, reads_only=True)
    await whole.start()
    await part.start()
    try:
        await whole.add_subscription(KEY)
        assert list(await part.list_subscriptions()) == [KEY]
        with pytest.raises(RuntimeError, match="not running"):
            await part.revoke_subscription(KEY.id, 1.0)
        with pytest.raises(RuntimeError, match="already started"):
            await part.start()
    finally:
        await part.stop()
        await whole.stop()
