"""Numbers in decision records are those of the code."""

from datetime import date
from pathlib import Path

import pytest

from domogate.drivers.mqtt import broker_connection
from domogate.drivers.openwebnet import bus, command_session, event_session
from domogate.families._family import CURRENT, DEPRECATED
from domogate.families._serve import _lifecycle_headers as lifecycle_headers
from domogate.services.driving import calls
from domogate.services.events import distribution, write_pace
from domogate.services.safety.status import SafetyStatus
from domogate.services.tickets import permits, refusal_limiter
from domogate.services.webhooks import backoff
from domogate.settings import Settings
from domogate.stores import batch, changes_by_plant, retention

DECISIONS = Path(__file__).parents[1] / "docs" / "decisions"
DEFAULTS = Settings()
NUMBERS: list[tuple[str, str, float]] = [
    ("0007", "if {:g} ms pass without a new write", batch.QUIET * 1000),
    ("0007", "at most {:g} ms", batch.LONGEST * 1000),
    ("0008", "`state_max_age` ({:g} s)", DEFAULTS.state_max_age),
    ("0008", "**{:g} s** by default", DEFAULTS.device_deadline),
    ("0009", "for {:g} days (`removed_plants_kept_days`)", DEFAULTS.removed_plants_kept_days),
    ("0017", "(`echo_deadline`, {:g} s)", DEFAULTS.echo_deadline),
    ("0018", "ticket is valid for {:g} s (`ticket_lifetime`)", DEFAULTS.ticket_lifetime),
    ("0023", "access and id tokens {:g} s", DEFAULTS.access_token_lifetime),
    ("0023", "codes {:g} s", DEFAULTS.code_lifetime),
    ("0023", "refresh tokens {:g} days", DEFAULTS.refresh_token_lifetime / 86_400),
    ("0023", "a replaced refresh token again within {:g} s", DEFAULTS.refresh_grace),
    ("0033", "in pieces of {:,}", retention.PIECE),
    ("0034", "A plant may have at most {:,} running calls", calls.MOST_IN_A_PLANT),
    ("0037", "larger than {:g} KiB", broker_connection.LARGEST_PACKET / 1024),
    ("0039", "shows the ordered state within {:g} s", bus.FIRST_CHECK),
    ("0040", "closed after {:g} s without use", command_session.IDLE_LIMIT),
    ("0040", "At most {} requests wait", command_session.MOST_WAITING),
    ("0040", "does not answer within {:g} s", command_session.REPLY_TIMEOUT),
    ("0040", "After {:g} s without an event", event_session.SILENCE_LIMIT),
    ("0040", "After a lost connection, the driver connects again after {:g} s", event_session.FIRST_DELAY),
    ("0040", "the pauses double up to {:g} s", event_session.LONGEST_DELAY),
    ("0040", "After a refused password, the driver tries again after {:g} s", event_session.FIRST_DELAY_REFUSED),
    ("0045", "The gateway tries again after {:g} s", backoff.FIRST),
    ("0048", "After {} refusals", refusal_limiter.ALLOWANCE),
    ("0048", "refusals within {:g} s", refusal_limiter.SPAN),
    ("0048", "`iat` may be {:g} seconds in the future", permits.LEEWAY),
    ("0145", "run less often: after {} writes or", distribution.BUSY.writes),
    ("0145", "after 4 writes or {} steps, whichever", distribution.BUSY.steps),
    ("0145", "A list has at most {} events", distribution.MOST_TOGETHER),
    ("0145", "after every {} steps", distribution.QUIET.steps),
    ("0145", "busy hub ({} writes or more", write_pace.BUSY_AFTER),
    ("0145", "can first do {:,} writes without a pause", write_pace.AT_FULL_SPEED),
    ("0145", "at most {:,} writes per second", write_pace.WRITES_PER_SECOND),
    ("0145", "an event waits up to {:g} s", write_pace.LONGEST_WAIT),
    ("0147", "After {:,} changes, a transaction", changes_by_plant.INDEXED_TOGETHER),
]
"""Numbers that a decision record gives, and the same numbers in the code."""


class TestDecidedNumbers:
    @pytest.mark.parametrize(("record", "sentence", "value"), NUMBERS, ids=lambda part: str(part)[:40])
    def test_a_number_in_a_record_is_that_of_the_code(self, record: str, sentence: str, value: float) -> None:
        (page,) = DECISIONS.glob(f"{record}-*.md")
        assert sentence.format(value) in " ".join(page.read_text().split())

    def test_lifetimes_of_tokens_and_tickets(self) -> None:
        assert (Settings().access_token_lifetime, Settings().id_token_lifetime, Settings().ticket_lifetime) == (3600, 3600, 60)

    def test_the_device_deadline_behind_408(self) -> None:
        assert Settings().device_deadline == 5

    def test_how_long_a_removed_plant_is_listed(self) -> None:
        assert Settings().removed_plants_kept_days == 30

    def test_how_long_a_request_may_take_to_arrive(self) -> None:
        assert (Settings().header_deadline, Settings().body_deadline) == (10, 30)

    def test_since_when_deprecated_operations_are(self) -> None:
        assert DEPRECATED.deprecated_since == date(2026, 11, 15)

    def test_a_sunset_is_printed_only_where_a_date_is_set(self) -> None:
        deprecated = (b"deprecation", b"@1794700800")
        assert lifecycle_headers(DEPRECATED, None) == [deprecated]
        assert lifecycle_headers(DEPRECATED, date(2030, 1, 31)) == [deprecated, (b"sunset", b"Thu, 31 Jan 2030 00:00:00 GMT")]
        assert lifecycle_headers(CURRENT, None) == []

    def test_the_integers_of_emergency_lighting(self) -> None:
        assert [(status.name, status.value) for status in SafetyStatus] == [
            ("WORKING", 0),
            ("IN_FAILURE", 1),
            ("NO_COMMUNICATION", 2),
        ]
