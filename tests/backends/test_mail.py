"""Mails as a mail server receives them."""

import ssl
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domogate.backends.mail import PrintedMail, SmtpMail, print_lifetime
from support.smtp_sink import SmtpSink, certified, smtp_sink

SENDER = "gateway@example.com"
HEADERS = {"From", "To", "Subject", "Date", "Message-ID", "Auto-Submitted"} | {
    *("Content-Type", "Content-Transfer-Encoding", "MIME-Version"),
}
LINK = "https://gateway.example.com/auth/password?token=" + "aB-_" * 30


# Loading the machine's trusted authorities takes longer than most of these tests. Tests of TLS name their own.
MACHINE_S = ssl.create_default_context()


def mail_to(sink: SmtpSink, security: str = "none", **options: object) -> SmtpMail:
    options = {"trust": MACHINE_S, **options}
    return SmtpMail("127.0.0.1", sink.port, SENDER, security=security, deadline=60, **options)  # type: ignore[arg-type]  # fields by name


class TestAPasswordLink:
    async def test_it_arrives_whole_with_name_and_lifetime(self) -> None:
        async with smtp_sink() as sink:
            assert await mail_to(sink).send_password_link("anna@example.com", "Anna", LINK, 86_400 * 3)
        (message,) = sink.messages
        body = message.get_content()
        assert (message["From"], message["To"]) == (SENDER, "anna@example.com")
        assert message["Subject"] == "Set your password"
        assert "Hello Anna," in body
        assert LINK in body.split()
        assert "3 days" in body
        assert message.get_content_type() == "text/plain"
        assert sink.receivers == ["anna@example.com"]

    async def test_it_asks_for_no_automatic_answer_and_can_be_told_apart(self) -> None:
        async with smtp_sink() as sink:
            for _ in range(2):
                await mail_to(sink).send_password_link("anna@example.com", "", LINK, 3600)
        first, second = sink.messages
        assert first["Auto-Submitted"] == "auto-generated"
        assert first["Message-ID"] != second["Message-ID"]
        assert first["Message-ID"].endswith("@example.com>")
        assert first["Date"]
        assert "Hello,\r\n" in first.get_content()

    @pytest.mark.parametrize("email", ["änna@example.com", "anna@müller.example"])
    async def test_an_address_in_another_script_is_written_to(self, email: str) -> None:
        async with smtp_sink() as sink:
            await mail_to(sink).send_password_link(email, "Änna", LINK, 3600)
        assert sink.receivers == [email]
        assert "Änna" in sink.messages[0].get_content()


class TestAnInvitation:
    async def test_it_names_the_plant_and_holds_the_link(self) -> None:
        async with smtp_sink() as sink:
            assert await mail_to(sink).send_invitation("carla@example.com", "Casa Bianchi", LINK, 3600)
        assert sink.messages[0]["Subject"] == "You are invited to Casa Bianchi"
        assert LINK in sink.messages[0].get_content()

    async def test_an_active_user_gets_no_link(self) -> None:
        async with smtp_sink() as sink:
            await mail_to(sink).send_invitation("carla@example.com", "Casa Bianchi", None, 3600)
        assert sink.messages[0]["Subject"] == "You can use Casa Bianchi now"
        assert "http" not in sink.messages[0].get_content()

    @pytest.mark.parametrize(
        "plant", ["Casa\r\nBcc: eve@example.com", "Casa\nX: y\n\nbody", "\x0b\x85\u2028Casa", "{link}{0}", "日本" * 25]
    )
    async def test_a_name_begins_no_header_and_adds_no_receiver(self, plant: str) -> None:
        async with smtp_sink() as sink:
            await mail_to(sink).send_invitation("carla@example.com", plant, None, 3600)
        (message,) = sink.messages
        assert message["Bcc"] is None
        assert message["X"] is None
        assert sink.receivers == ["carla@example.com"]
        assert set(message.keys()) == HEADERS

    async def test_an_address_with_a_line_break_is_never_sent_to(self) -> None:
        async with smtp_sink() as sink:
            with pytest.raises(ValueError, match="linefeed"):
                await mail_to(sink).send_password_link("anna@example.com\r\nBcc: eve@example.com", "", LINK, 3600)
        assert sink.raw == []


class TestTheConnection:
    async def test_starttls_comes_before_the_password(self, tmp_path: Path) -> None:
        trust, client = certified(tmp_path)
        async with smtp_sink(trust) as sink:
            await mail_to(sink, "starttls", user="gateway", password="mail pass", trust=client).send_password_link(
                "anna@example.com", "", LINK, 3600
            )
        assert sink.logins == [("gateway", "mail pass")]
        assert sink.encrypted == [True]

    async def test_tls_from_the_first_byte(self, tmp_path: Path) -> None:
        trust, client = certified(tmp_path)
        async with smtp_sink(trust, tls=True) as sink:
            await mail_to(sink, "tls", trust=client).send_password_link("anna@example.com", "", LINK, 3600)
        assert sink.encrypted == [True]

    @pytest.mark.parametrize("security", ["starttls", "tls"])
    async def test_a_server_with_an_unknown_certificate_gets_nothing(self, tmp_path: Path, security: str) -> None:
        trust, _ = certified(tmp_path)
        async with smtp_sink(trust, tls=security == "tls") as sink:
            with pytest.raises(ssl.SSLError):
                await mail_to(sink, security, user="gateway", password="x").send_password_link("a@example.com", "", LINK, 3600)
        assert (sink.raw, sink.logins) == ([], [])

    async def test_a_server_without_starttls_gets_nothing_in_clear(self) -> None:
        async with smtp_sink() as sink:
            with pytest.raises(OSError, match="STARTTLS"):
                await mail_to(sink, "starttls", user="gateway", password="x").send_password_link(
                    "a@example.com", "", LINK, 3600
                )
        assert (sink.raw, sink.logins) == ([], [])

    async def test_a_refusal_and_a_server_that_is_not_there_are_os_errors(self) -> None:
        async with smtp_sink(refuses="RCPT") as sink:
            with pytest.raises(OSError, match="not here"):
                await mail_to(sink).send_password_link("anna@example.com", "", LINK, 3600)
        with pytest.raises(OSError, match="refused"):
            await mail_to(sink).send_password_link("anna@example.com", "", LINK, 3600)

    def test_an_unknown_security_is_refused_at_once(self) -> None:
        with pytest.raises(ValueError, match="starttls"):
            SmtpMail("127.0.0.1", 25, SENDER, security="ssl")


class TestWithoutAMailServer:
    async def test_nothing_is_sent_and_the_result_is_false(self) -> None:
        assert not await PrintedMail().send_password_link("anna@example.com", "Anna", LINK, 3600)
        assert not await PrintedMail().send_invitation("anna@example.com", "Casa", LINK, 3600)


class TestLifetimes:
    @pytest.mark.parametrize(
        ("seconds", "said"),
        [
            (86_400, "1 day"),
            (3 * 86_400, "3 days"),
            (36 * 3600, "36 hours"),
            (3600, "1 hour"),
            (5400, "90 minutes"),
            (45, "45 seconds"),
        ],
    )
    def test_they_are_said_as_people_do(self, seconds: float, said: str) -> None:
        assert print_lifetime(seconds) == said

    @given(st.floats(1, 1e8))
    def test_a_lifetime_is_rounded_down(self, seconds: float) -> None:
        count, unit = print_lifetime(seconds).split()
        length = {"day": 86_400, "hour": 3600, "minute": 60, "second": 1}[unit.removesuffix("s")]
        assert int(count) * length <= seconds
        assert int(count) >= 1
