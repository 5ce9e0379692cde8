"""The small parts: signatures, pauses, rounds."""

import asyncio
import base64
from datetime import UTC, datetime
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given
from standardwebhooks import Webhook as StandardWebhook

from domogate.domain.events import Change, StateChanged
from domogate.domain.webhooks import Webhook
from domogate.ports import Delivered, Undelivered
from domogate.services.webhooks.backoff import FIRST, LONGEST, LONGEST_ASKED_FOR, pause
from domogate.services.webhooks.batch import AT_ONCE, DeliveryBatch, Letter, Verdict
from domogate.services.webhooks.signing import message_id, new_webhook_secret, sign_delivery
from support.stores import HOUSE, an_id


def a_webhook(secret: str) -> Webhook:
    return Webhook(
        id=an_id(1), client_id="app", user_id=an_id(2), grant_id=an_id(3), plant_id=an_id(4), url="https://x.example",
        secret=secret, created_at=0.0, position=0,
    )  # fmt: skip


class TestSigning:
    @given(st.text(st.characters(exclude_categories=["Cs"])), st.integers(0, 2**33), st.integers(1, 2**62))
    def test_as_the_standard_s_own_package_signs(self, text: str, at: int, cursor: int) -> None:
        webhook = a_webhook(new_webhook_secret())
        message = message_id(webhook.id, cursor)
        headers = sign_delivery(webhook, message, at + 0.9, text.encode())
        theirs = StandardWebhook(webhook.secret).sign(message, datetime.fromtimestamp(at, UTC), text)
        assert headers == {"webhook-id": message, "webhook-timestamp": str(at), "webhook-signature": theirs}

    def test_a_secret_has_256_bits_and_is_no_other(self) -> None:
        secrets = {new_webhook_secret() for _ in range(100)}
        assert len(secrets) == 100
        assert all(len(base64.b64decode(one.removeprefix("whsec_"))) == 32 for one in secrets)


class TestPauses:
    @given(st.integers(0, 10_000), st.none() | st.floats(0, 1e9))
    def test_they_grow_to_an_hour_and_are_as_long_as_is_asked_for_within_reason(
        self, attempts: int, asked_for: float | None
    ) -> None:
        taken = pause(attempts, asked_for)
        assert min(LONGEST, int(FIRST) * 2 ** max(0, attempts - 1)) * 0.8 <= taken <= max(LONGEST, LONGEST_ASKED_FOR)
        assert taken >= min(asked_for or 0, LONGEST_ASKED_FOR)
        if asked_for is None:
            assert taken <= LONGEST


def letters(*modules: int) -> list[Letter]:
    """The number of each one's module, in the order of their cursors."""
    return [
        Letter(
            Change(cursor, 0.0, StateChanged(plant_id=HOUSE.id, module_id=an_id(module), state=None, reachable=True, at=0.0))
        )
        for cursor, module in enumerate(modules, 1)
    ]


async def deliver(what: list[Letter], answers: dict[int, Any], goes_on: Any = lambda _: False) -> dict[int, Verdict]:
    """By cursor; who is not among the answers is answered 200."""

    async def send(letter: Letter) -> Delivered | None:
        await asyncio.sleep(0)
        answer = answers.get(letter.change.cursor, 200)
        if isinstance(answer, Exception):
            raise answer
        return None if answer is None else Delivered(answer)

    results = await DeliveryBatch(send, goes_on=goes_on).deliver(what)
    assert [result.letter for result in results] == what
    return {result.letter.change.cursor: result.verdict for result in results}


class TestRounds:
    async def test_what_is_behind_one_that_was_refused_is_left_and_the_others_are_taken(self) -> None:
        became = await deliver(letters(1, 2, 1, 2, 1), {3: 500})
        assert became == {
            1: Verdict.TAKEN, 2: Verdict.TAKEN, 3: Verdict.REFUSED, 4: Verdict.TAKEN, 5: Verdict.LEFT,
        }  # fmt: skip

    async def test_what_is_given_up_holds_up_nobody(self) -> None:
        became = await deliver(letters(1, 1, 1), {1: 500}, goes_on=lambda letter: letter.change.cursor == 1)
        assert became == {1: Verdict.REFUSED, 2: Verdict.TAKEN, 3: Verdict.TAKEN}

    async def test_what_must_not_be_sent_is_passed(self) -> None:
        assert await deliver(letters(1, 1), {1: None}) == {1: Verdict.PASSED, 2: Verdict.TAKEN}

    async def test_a_receiver_that_is_away_is_asked_a_few_times_and_no_more(self) -> None:
        became = await deliver(letters(*range(50)), {cursor: Undelivered("away") for cursor in range(1, 51)})
        tried = [cursor for cursor, verdict in became.items() if verdict is Verdict.SILENT]
        assert len(tried) == AT_ONCE
        assert all(became[cursor] is Verdict.LEFT for cursor in became if cursor not in tried)

    async def test_410_stops_everything(self) -> None:
        became = await deliver(letters(*range(50)), {1: 410})
        assert became[1] is Verdict.GONE
        assert sum(verdict is Verdict.LEFT for verdict in became.values()) >= 50 - AT_ONCE

    @pytest.mark.parametrize("modules", [(1, 1), (1, 2)])
    async def test_what_goes_wrong_otherwise_is_raised_once_the_rest_has_ended(self, modules: tuple[int, ...]) -> None:
        with pytest.raises(RuntimeError, match="ours"):
            await deliver(letters(*modules), {1: RuntimeError("ours")})

    @given(
        st.lists(st.integers(0, 4), max_size=30), st.dictionaries(st.integers(1, 30), st.sampled_from([500, 503, 410, None]))
    )
    def test_each_module_s_are_tried_in_order_and_without_a_gap(self, modules: list[int], answers: dict[int, Any]) -> None:
        what = letters(*modules)
        became = asyncio.run(deliver(what, answers))
        for module in set(modules):
            verdicts = [became[letter.change.cursor] for letter in what if letter.module_id == an_id(module)]
            untried = [place for place, verdict in enumerate(verdicts) if verdict is Verdict.LEFT]
            assert untried == list(range(len(verdicts) - len(untried), len(verdicts)))
            bad = [verdict for verdict in verdicts if verdict not in (Verdict.TAKEN, Verdict.PASSED, Verdict.LEFT)]
            assert len(bad) <= 1
