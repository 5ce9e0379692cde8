"""The log has two formats and no secrets."""

import io
import json
import logging
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domogate.common.log import get_logger
from domogate.edge.logs import REDACTED, recent_lines, redact, redact_text, setup_logs
from domogate.ports import StoreTimeout

JWT = "eyJhbGciOiJSUzI1NiIsImtpZCI6IjEifQ.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJl-_x"


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers = handlers
    root.setLevel(level)


class TestRedaction:
    @pytest.mark.parametrize(
        "text",
        [
            f"token was {JWT} there",
            f"Authorization: Bearer {JWT}",
            "Authorization: Bearer hidden-hidden",
            "Authorization: hidden-hidden",
            "authorization=Basic hidden-hidden",
            "Ocp-Apim-Subscription-Key: hidden-hidden",
            "GET /x?subscription-key=hidden-hidden&a=1",
            "{'password': 'hidden-hidden'}",
            '{"client_secret": "hidden-hidden"}',
            "[(b'authorization', b'hidden-hidden')]",
            "[(b'ocp-apim-subscription-key', b'hidden-hidden'), (b'a', b'b')]",
            "refresh_token=hidden-hidden",
            "postgresql://user:hidden-hidden@host/db",
        ],
    )
    def test_a_secret_in_a_text_is_blotted_out(self, text: str) -> None:
        redacted = redact_text(text)
        assert "hidden" not in redacted
        assert JWT[:30] not in redacted
        assert REDACTED in redacted

    @pytest.mark.parametrize(
        "text", ["plant 4c0a listed", "http://127.0.0.1:8080/auth/jwks", "the token is missing", "12:30:01", "secretary"]
    )
    def test_other_texts_stay_as_they_are(self, text: str) -> None:
        assert redact_text(text) == text

    @pytest.mark.parametrize(
        "name",
        ["password", "new_password", "client_secret", "access_token", "Authorization", "subscription_key", "ticket", "token"],
    )
    def test_a_field_named_like_a_secret_is_blotted_out_whatever_it_holds(self, name: str) -> None:
        event = redact({"event": "x", name: "hidden", "deep": {name: ["hidden"]}, "list": [{name: b"hidden"}]})
        assert "hidden" not in repr(event)
        assert event["event"] == "x"

    def test_harmless_fields_keep_their_types(self) -> None:
        event = {"event": "x", "port": 8080, "ok": True, "nothing": None, "items": [1, "a"], "token": None}
        assert redact(dict(event)) == event

    @given(st.text())
    def test_no_text_breaks_it_and_twice_is_once(self, text: str) -> None:
        assert redact_text(redact_text(text)) == redact_text(text)

    def test_a_structure_without_end_ends(self) -> None:
        endless: list[object] = []
        endless.append(endless)
        assert redact({"event": "x", "endless": endless})["event"] == "x"


class TestSetup:
    @pytest.mark.parametrize("format", ["text", "json"])
    def test_everything_goes_to_one_stream_in_one_format(self, format: str) -> None:
        stream = io.StringIO()
        setup_logs("info", format, stream)
        get_logger("domogate.x").info("ours", plant="p1")
        logging.getLogger("uvicorn.error").warning("theirs %s", f"Bearer {JWT}")
        logging.getLogger("aiohttp.client").info("another")
        lines = stream.getvalue().splitlines()
        assert len(lines) == 3
        assert "ours" in lines[0]
        assert "p1" in lines[0]
        assert REDACTED in lines[1]
        assert JWT not in stream.getvalue()
        assert [line.text for line in recent_lines.list()[-3:]] == lines
        if format == "json":
            first = json.loads(lines[0])
            assert (first["level"], first["logger"], first["plant"]) == ("info", "domogate.x", "p1")
            assert first["timestamp"].endswith("Z")

    @pytest.mark.parametrize("character", ["\x1b", "\x07", "\x9b", "\u202e"])
    def test_a_value_cannot_control_the_terminal(self, character: str) -> None:
        stream = io.StringIO()
        setup_logs("info", "text", stream)
        get_logger("domogate.x").info("named", name=f"a{character}[2Jb")
        assert character not in stream.getvalue()
        assert f"name={f'a{character}[2Jb'!r}" in stream.getvalue()

    def test_the_level_holds_for_all(self) -> None:
        stream = io.StringIO()
        setup_logs("warning", "text", stream)
        get_logger("domogate").info("no")
        logging.getLogger("asyncio").info("no")
        get_logger("domogate").warning("yes")
        assert len(stream.getvalue().splitlines()) == 1

    def test_uvicorn_does_not_tell_its_life(self) -> None:
        stream = io.StringIO()
        setup_logs("info", "text", stream)
        logging.getLogger("uvicorn.error").info("Started server process")
        assert stream.getvalue() == ""

    def test_details_of_migrations_are_not_logged(self) -> None:
        stream = io.StringIO()
        setup_logs("info", "text", stream)
        for name in ("alembic.runtime.plugins", "alembic.runtime.migration"):
            logging.getLogger(name).info("Running upgrade 0001 -> 0002")
        assert stream.getvalue() == ""
        logging.getLogger("alembic.runtime.migration").warning("something is wrong")
        assert "something is wrong" in stream.getvalue()

    @pytest.mark.parametrize("format", ["text", "json"])
    def test_a_traceback_is_logged_without_its_secrets(self, format: str) -> None:
        stream = io.StringIO()
        setup_logs("info", format, stream)
        try:
            raise ValueError(f"bad token {JWT}, password=hidden")
        except ValueError:
            get_logger("domogate").exception("failed")
        assert "ValueError" in stream.getvalue()
        assert "test_logs.py" in stream.getvalue()
        assert "hidden" not in stream.getvalue()
        assert JWT not in stream.getvalue()

    @pytest.mark.parametrize("format", ["text", "json"])
    def test_a_slow_database_is_a_sentence_without_a_traceback(self, format: str) -> None:
        stream = io.StringIO()
        setup_logs("info", format, stream)
        error = StoreTimeout("the database did not answer within 4 s")
        try:
            raise error
        except StoreTimeout:
            get_logger("domogate").exception("the webhooks could not be read; trying again")
        get_logger("domogate").error("the figures could not be read", exc_info=error)
        logging.getLogger("of a library").error("failed", exc_info=error)
        assert stream.getvalue().count("the database did not answer within 4 s") == 3
        assert "test_logs.py" not in stream.getvalue()
