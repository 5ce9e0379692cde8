"""Signatures, retry delays and batches."""

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
from domogate.services.webhooks.backoff import FIRST, LONGEST, LONGEST_ASKED_FOR, retry_delay
from domogate.services.webhooks.batch import AT_ONCE, Delivery, DeliveryBatch, Outcome
from domogate.services.webhooks.signing import message_id, new_webhook_secret, sign_delivery
from domogate.services.webhooks.timers import Timers
from support.stores import HOUSE, an_id


def a_webhook(secret: str) -> Webhook:
    return Webhook(
        id=an_id(1), client_id="app", user_id=an_id(2), grant_id=an_id(3), plant_id=an_id(4), url="https://x.example",
        secret=secret, created_at=0.0, position=0, scopes=(),
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
        self, attempts: int, retry_after: float | None
    ) -> None:
        taken = retry_delay(attempts, retry_after)
        assert min(LONGEST, int(FIRST) * 2 ** max(0, attempts - 1)) * 0.8 <= taken <= max(LONGEST, LONGEST_ASKED_FOR)
        assert taken >= min(retry_after or 0, LONGEST_ASKED_FOR)
        if retry_after is None:
            assert taken <= LONGEST


def deliveries(*modules: int) -> list[Delivery]:
    """One delivery for each given module number, in the order of the cursors."""
    return [
        Delivery(
            Change(cursor, 0.0, StateChanged(plant_id=HOUSE.id, module_id=an_id(module), state=None, reachable=True, at=0.0))
        )
        for cursor, module in enumerate(modules, 1)
    ]


async def deliver(what: list[Delivery], answers: dict[int, Any], is_too_old: Any = lambda _: False) -> dict[int, Outcome]:
    """The outcomes by cursor. The default answer is 200."""

    async def send(delivery: Delivery) -> Delivered | None:
        await asyncio.sleep(0)
        answer = answers.get(delivery.change.cursor, 200)
        if isinstance(answer, Exception):
            raise answer
        return None if answer is None else Delivered(answer)

    results = await DeliveryBatch(send, is_too_old=is_too_old).deliver(what)
    assert [result.delivery for result in results] == what
    return {result.delivery.change.cursor: result.outcome for result in results}


class TestRounds:
    async def test_what_is_behind_one_that_was_refused_is_left_and_the_others_are_taken(self) -> None:
        became = await deliver(deliveries(1, 2, 1, 2, 1), {3: 500})
        assert became == {
            1: Outcome.ACCEPTED, 2: Outcome.ACCEPTED, 3: Outcome.REFUSED, 4: Outcome.ACCEPTED, 5: Outcome.NOT_TRIED,
        }  # fmt: skip

    async def test_what_is_given_up_holds_up_nobody(self) -> None:
        became = await deliver(deliveries(1, 1, 1), {1: 500}, is_too_old=lambda delivery: delivery.change.cursor == 1)
        assert became == {1: Outcome.REFUSED, 2: Outcome.ACCEPTED, 3: Outcome.ACCEPTED}

    async def test_what_must_not_be_sent_is_passed(self) -> None:
        assert await deliver(deliveries(1, 1), {1: None}) == {1: Outcome.SKIPPED, 2: Outcome.ACCEPTED}

    async def test_a_receiver_that_is_away_is_asked_a_few_times_and_no_more(self) -> None:
        became = await deliver(deliveries(*range(50)), {cursor: Undelivered("away") for cursor in range(1, 51)})
        tried = [cursor for cursor, outcome in became.items() if outcome is Outcome.UNANSWERED]
        assert len(tried) == AT_ONCE
        assert all(became[cursor] is Outcome.NOT_TRIED for cursor in became if cursor not in tried)

    async def test_410_stops_everything(self) -> None:
        became = await deliver(deliveries(*range(50)), {1: 410})
        assert became[1] is Outcome.GONE
        assert sum(outcome is Outcome.NOT_TRIED for outcome in became.values()) >= 50 - AT_ONCE

    @pytest.mark.parametrize("modules", [(1, 1), (1, 2)])
    async def test_what_goes_wrong_otherwise_is_raised_once_the_rest_has_ended(self, modules: tuple[int, ...]) -> None:
        with pytest.raises(RuntimeError, match="ours"):
            await deliver(deliveries(*modules), {1: RuntimeError("ours")})

    @given(
        st.lists(st.integers(0, 4), max_size=30), st.dictionaries(st.integers(1, 30), st.sampled_from([500, 503, 410, None]))
    )
    def test_each_module_s_are_tried_in_order_and_without_a_gap(self, modules: list[int], answers: dict[int, Any]) -> None:
        what = deliveries(*modules)
        became = asyncio.run(deliver(what, answers))
        for module in set(modules):
            verdicts = [became[delivery.change.cursor] for delivery in what if delivery.module_id == an_id(module)]
            untried = [place for place, outcome in enumerate(verdicts) if outcome is Outcome.NOT_TRIED]
            assert untried == list(range(len(verdicts) - len(untried), len(verdicts)))
            bad = [outcome for outcome in verdicts if outcome not in (Outcome.ACCEPTED, Outcome.SKIPPED, Outcome.NOT_TRIED)]
            assert len(bad) <= 1


class TestTimers:
    def test_a_clock_that_was_ahead_while_a_time_was_set_is_noticed_later(self) -> None:
        timers = Timers()
        timers.set(1_000_005.0, an_id(1), now=1_000_000.0)
        assert not timers.was_set_back(999_990.0, seconds=30.0)
        assert timers.was_set_back(500_000.0, seconds=30.0)
        timers.clear()
        assert not timers.was_set_back(500_000.0, seconds=30.0)
