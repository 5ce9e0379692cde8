"""Random receivers, clocks and crashes: every event is accepted at least once, and the events of each module in order."""

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from domogate.ports import Delivered, Undelivered
from domogate.services.webhooks import feed_reader, worker
from support.clocks import ManualClock
from support.delivery_setup import LAMPS, RecordingSender, copied, open_delivery_setup, running_deliveries
from support.examples import examples

pytestmark = pytest.mark.slow

URL = "https://receiver.example/"
ANSWERS: tuple[Any, ...] = (200, 500, Delivered(503, 20.0), Undelivered("away"))
SECONDS = (0.5, 6.0, 70.0, 4_000.0)
MODULES = LAMPS[:2]

# The steps: a lamp reports, the receiver answers lamps differently, time passes, the gateway stops or crashes.
_report = st.tuples(st.just("report"), st.tuples(st.integers(0, 1), st.booleans()))
_answer = st.tuples(st.just("answer"), st.tuples(st.integers(0, 1), st.sampled_from(range(len(ANSWERS)))))
# This sequence would be rare: the receiver refuses one lamp, and accepts it again before the next retry.
_trouble = st.tuples(st.just("trouble"), st.tuples(st.integers(0, 1), st.sampled_from(range(len(ANSWERS)))))
_pass = st.tuples(st.just("pass"), st.sampled_from(SECONDS))
_restart = st.tuples(st.just("restart"), st.booleans())
_story = st.lists(_report | _answer | _trouble | _pass | _restart, min_size=5, max_size=25)


class ScriptedReceiver(RecordingSender):
    """Answers as configured for each lamp, and records accepted events."""

    def __init__(self) -> None:
        super().__init__()
        self.answers: list[Any] = [200, 200]
        self.taken: list[tuple[str, int]] = []
        self.answer = self._judge

    def _judge(self, _: str, event: Any) -> Any:
        module = event["data"]["moduleId"]
        answer = self.answers[[lamp.id for lamp in MODULES].index(module)]
        if answer == 200:
            self.taken.append((module, int(event["id"])))
        return answer


async def live(folder: Path, database: Path, story: Sequence[tuple[str, Any]]) -> None:
    clock, receiver, path = ManualClock(), ScriptedReceiver(), copied(database, folder)
    expected: list[tuple[str, int]] = []
    webhook: Any = None
    chapters: list[list[tuple[str, Any]]] = [[]]
    for action in story:
        chapters[-1] += _tell(action)
        if action[0] == "restart":
            chapters.append([])
    for number, chapter in enumerate(chapters):
        async with open_delivery_setup(path, receiver, clock, **({} if number == 0 else {"estate": None})) as setup:
            if webhook is None:
                webhook = await setup.register(URL, kinds=["state"])
            for what, how in chapter:
                if what == "report":
                    lamp, and_wait = LAMPS[how[0]], how[1]
                    expected.append((lamp.id, await setup.report(lamp, len(expected) % 100)))
                    if and_wait:
                        await setup.settle()
                elif what == "answer":
                    receiver.answers[how[0]] = ANSWERS[how[1]]
                elif what == "pass":
                    await setup.pass_time(how)
                elif how:
                    await _crash()
            if number == len(chapters) - 1:
                receiver.answers = [200, 200]
                found = webhook
                for _ in range(12):
                    await setup.pass_time(4_000)
                    found = await setup.find(webhook)
                    if found.next_at == 0:
                        break
                assert (found.failing_since, found.next_at) == (None, 0)
                assert await setup.store.list_pending(webhook.id, dead=False, limit=9) == []
                assert await setup.store.list_pending(webhook.id, dead=True, limit=9) == []
    firsts = list(dict.fromkeys(receiver.taken))
    assert sorted(firsts, key=lambda one: one[1]) == expected
    for lamp in MODULES:
        mine = [cursor for module, cursor in firsts if module == lamp.id]
        assert mine == sorted(mine)


def _tell(action: tuple[str, Any]) -> list[tuple[str, Any]]:
    if action[0] != "trouble":
        return [action]
    lamp, _ = action[1]
    report = ("report", (lamp, True))
    return [("answer", action[1]), report, report, ("answer", (lamp, 0)), report]


async def _crash() -> None:
    deliveries = running_deliveries()
    for task in deliveries:
        task.cancel()
    await asyncio.gather(*deliveries, return_exceptions=True)


@settings(max_examples=examples(5))
@given(story=_story, page=st.sampled_from([2, 3, 100]))
def test_every_event_is_taken_and_each_module_s_in_order(
    migrated_database: Path, story: list[tuple[str, Any]], page: int
) -> None:
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        for module in (feed_reader, worker):
            patch.setattr(module, "PAGE", page)
        asyncio.run(live(Path(folder), migrated_database, story))
