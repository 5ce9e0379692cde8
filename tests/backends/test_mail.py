"""Mails as a mail server receives them."""

import ssl
import string
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domogate.backends.mail import SmtpMail
from domogate.backends.mail_texts import TEXTS
from domogate.backends.printed_mail import PrintedMail
from domogate.domain.languages import LANGUAGES
from domogate.ports import MailKind, OutgoingMail
from support.smtp_sink import SmtpSink, certified, smtp_sink

SENDER = "gateway@example.com"
HEADERS = {"From", "To", "Subject", "Date", "Message-ID", "Auto-Submitted", "Content-Language"} | {
    *("Content-Type", "Content-Transfer-Encoding", "MIME-Version"),
}
LINK = "https://gateway.example.com/auth/password?token=" + "aB-_" * 30


# Loading the machine's trusted authorities takes longer than most of these tests. Tests of TLS name their own.
MACHINE_S = ssl.create_default_context()


def mail_to(sink: SmtpSink, security: str = "none", **options: Any) -> SmtpMail:
    options = {"trust": MACHINE_S, **options}
    return SmtpMail("127.0.0.1", sink.port, SENDER, security=security, deadline=60, **options)


def password_link(email: str, name: str, *, lifetime: float, language: str | None = None) -> OutgoingMail:
    return OutgoingMail(kind=MailKind.PASSWORD_LINK, email=email, language=language, name=name, link=LINK, lifetime=lifetime)


def invitation(email: str, plant: str, link: str | None, *, by: str = "", language: str | None = None) -> OutgoingMail:
    kind = MailKind.SHARED_HOME if link is None else MailKind.INVITATION
    return OutgoingMail(kind=kind, email=email, language=language, plant=plant, by=by, link=link or "", lifetime=3600)


class TestALoginName:
    async def test_it_gets_no_mail(self) -> None:
        async with smtp_sink() as sink:
            assert not await mail_to(sink).send(password_link("Emil@Guest.Invalid", "Emil", lifetime=3600))
        assert sink.messages == []


class TestAPasswordLink:
    async def test_it_arrives_whole_with_name_and_lifetime(self) -> None:
        async with smtp_sink() as sink:
            assert await mail_to(sink).send(password_link("anna@example.com", "Anna", lifetime=86_400 * 3))
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
                await mail_to(sink).send(password_link("anna@example.com", "", lifetime=3600))
        first, second = sink.messages
        assert first["Auto-Submitted"] == "auto-generated"
        assert first["Message-ID"] != second["Message-ID"]
        assert first["Message-ID"].endswith("@example.com>")
        assert first["Date"]
        assert "Hello,\r\n" in first.get_content()

    @pytest.mark.parametrize("email", ["änna@example.com", "anna@müller.example"])
    async def test_an_address_in_another_script_is_written_to(self, email: str) -> None:
        async with smtp_sink() as sink:
            await mail_to(sink).send(password_link(email, "Änna", lifetime=3600))
        assert sink.receivers == [email]
        assert "Änna" in sink.messages[0].get_content()


class TestAnInvitation:
    async def test_it_names_the_plant_and_holds_the_link(self) -> None:
        async with smtp_sink() as sink:
            assert await mail_to(sink).send(invitation("carla@example.com", "Casa Bianchi", LINK))
        assert sink.messages[0]["Subject"] == "You are invited to Casa Bianchi"
        assert LINK in sink.messages[0].get_content()

    async def test_an_active_user_gets_no_link(self) -> None:
        async with smtp_sink() as sink:
            await mail_to(sink).send(invitation("carla@example.com", "Casa Bianchi", None))
        assert sink.messages[0]["Subject"] == "You can use Casa Bianchi now"
        assert "http" not in sink.messages[0].get_content()

    @pytest.mark.parametrize(("language", "words"), [("en", "by"), ("de", "von"), ("fr", "par"), ("it", "da")])
    async def test_it_names_the_person_who_invites_if_known(self, language: str, words: str) -> None:
        async with smtp_sink() as sink:
            for link in (LINK, None):
                for by in ("Anna\nBianchi {link}", ""):
                    await mail_to(sink).send(invitation("carla@example.com", "Casa", link, by=by, language=language))
        for known, unknown in zip(sink.messages[::2], sink.messages[1::2], strict=True):
            assert f" {words} Anna Bianchi {{link}}" in known.get_content()
            assert known.get_content().replace(f" {words} Anna Bianchi {{link}}", "") == unknown.get_content()

    @pytest.mark.parametrize(
        "plant", ["Casa\r\nBcc: eve@example.com", "Casa\nX: y\n\nbody", "\x0b\x85\u2028Casa", "{link}{0}", "日本" * 25]
    )
    async def test_a_name_begins_no_header_and_adds_no_receiver(self, plant: str) -> None:
        async with smtp_sink() as sink:
            await mail_to(sink).send(invitation("carla@example.com", plant, None))
        (message,) = sink.messages
        assert message["Bcc"] is None
        assert message["X"] is None
        assert sink.receivers == ["carla@example.com"]
        assert set(message.keys()) == HEADERS

    async def test_an_address_with_a_line_break_is_never_sent_to(self) -> None:
        async with smtp_sink() as sink:
            with pytest.raises(ValueError, match="linefeed"):
                await mail_to(sink).send(password_link("anna@example.com\r\nBcc: eve@example.com", "", lifetime=3600))
        assert sink.raw == []


class TestTheConnection:
    async def test_starttls_comes_before_the_password(self, tmp_path: Path) -> None:
        trust, client = certified(tmp_path)
        async with smtp_sink(trust) as sink:
            await mail_to(sink, "starttls", user="gateway", password="mail pass", trust=client).send(
                password_link("anna@example.com", "", lifetime=3600)
            )
        assert sink.logins == [("gateway", "mail pass")]
        assert sink.encrypted == [True]

    async def test_tls_from_the_first_byte(self, tmp_path: Path) -> None:
        trust, client = certified(tmp_path)
        async with smtp_sink(trust, tls=True) as sink:
            await mail_to(sink, "tls", trust=client).send(password_link("anna@example.com", "", lifetime=3600))
        assert sink.encrypted == [True]

    @pytest.mark.parametrize("security", ["starttls", "tls"])
    async def test_a_server_with_an_unknown_certificate_gets_nothing(self, tmp_path: Path, security: str) -> None:
        trust, _ = certified(tmp_path)
        async with smtp_sink(trust, tls=security == "tls") as sink:
            with pytest.raises(ssl.SSLError):
                await mail_to(sink, security, user="gateway", password="x").send(
                    password_link("a@example.com", "", lifetime=3600)
                )
        assert (sink.raw, sink.logins) == ([], [])

    async def test_a_server_without_starttls_gets_nothing_in_clear(self) -> None:
        async with smtp_sink() as sink:
            with pytest.raises(OSError, match="STARTTLS"):
                await mail_to(sink, "starttls", user="gateway", password="x").send(
                    password_link("a@example.com", "", lifetime=3600)
                )
        assert (sink.raw, sink.logins) == ([], [])

    async def test_a_refusal_and_a_server_that_is_not_there_are_os_errors(self) -> None:
        async with smtp_sink(refuses="RCPT") as sink:
            with pytest.raises(OSError, match="not here"):
                await mail_to(sink).send(password_link("anna@example.com", "", lifetime=3600))
        with pytest.raises(OSError, match="refused"):
            await mail_to(sink).send(password_link("anna@example.com", "", lifetime=3600))

    def test_an_unknown_security_is_refused_at_once(self) -> None:
        with pytest.raises(ValueError, match="starttls"):
            SmtpMail("127.0.0.1", 25, SENDER, security="ssl")


class TestWithoutAMailServer:
    async def test_nothing_is_sent_and_the_result_is_false(self) -> None:
        assert not await PrintedMail().send(password_link("anna@example.com", "Anna", lifetime=3600))
        assert not await PrintedMail().send(invitation("anna@example.com", "Casa", LINK))


class TestTheOperatorsName:
    async def test_it_is_in_the_sender_in_the_subject_and_at_the_end(self) -> None:
        async with smtp_sink() as sink:
            mail = mail_to(sink, operator_name="Hôtel „Aurora“, Genève")
            await mail.send(password_link("anna@example.com", "Anna", lifetime=3600))
        (message,) = sink.messages
        (sender,) = message["From"].addresses
        assert (sender.display_name, sender.addr_spec) == ("Hôtel „Aurora“, Genève", SENDER)
        assert message["Subject"] == "Set your password · Hôtel „Aurora“, Genève"
        assert message.get_content().splitlines()[-1] == "Hôtel „Aurora“, Genève"
        assert sink.receivers == ["anna@example.com"]

    async def test_without_it_the_sender_is_only_the_address(self) -> None:
        async with smtp_sink() as sink:
            await mail_to(sink).send(password_link("anna@example.com", "Anna", lifetime=3600))
        assert sink.messages[0]["From"] == SENDER


class TestLanguages:
    @pytest.mark.parametrize(
        ("language", "subject", "lifetime"),
        [
            ("en", "Set your password", "within 3 days"),
            ("de", "Legen Sie Ihr Passwort fest", "innerhalb von 3 Tagen"),
            ("fr", "Choisissez votre mot de passe", "pendant 3 jours"),
            ("it", "Imposta la tua password", "entro 3 giorni"),
        ],
    )
    async def test_a_mail_is_in_the_persons_language(self, language: str, subject: str, lifetime: str) -> None:
        async with smtp_sink() as sink:
            await mail_to(sink).send(password_link("anna@example.com", "Anna", lifetime=3 * 86_400, language=language))
        (message,) = sink.messages
        assert (message["Subject"], message["Content-Language"]) == (subject, language)
        assert lifetime in message.get_content()
        assert LINK in message.get_content().split()

    async def test_without_a_language_it_is_in_the_gateways_default_language(self) -> None:
        async with smtp_sink() as sink:
            await mail_to(sink, default_language="it").send(password_link("anna@example.com", "Anna", lifetime=3600))
        assert sink.messages[0]["Subject"] == "Imposta la tua password"

    @pytest.mark.parametrize("language", LANGUAGES)
    def test_every_language_has_every_mail_with_the_same_places_to_fill_in(self, language: str) -> None:
        def places(text: str) -> list[str]:
            return sorted(name for _, name, _, _ in string.Formatter().parse(text) if name)

        english, texts = TEXTS["en"], TEXTS[language]
        assert set(texts.mails) == set(MailKind)
        assert set(texts.lifetime) == set(english.lifetime)
        for kind in MailKind:
            assert places(texts.mails[kind].subject) == places(english.mails[kind].subject)
            assert places(texts.mails[kind].body) == places(english.mails[kind].body)

    def test_there_is_no_file_of_another_language(self) -> None:
        folder = files("domogate.backends") / "mails"
        assert {entry.name for entry in folder.iterdir()} == {f"{language}.toml" for language in LANGUAGES}


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
        assert TEXTS["en"].print_lifetime(seconds) == said

    @given(st.floats(1, 1e8))
    def test_a_lifetime_is_rounded_down(self, seconds: float) -> None:
        count, unit = TEXTS["en"].print_lifetime(seconds).split()
        length = {"day": 86_400, "hour": 3600, "minute": 60, "second": 1}[unit.removesuffix("s")]
        assert int(count) * length <= seconds
        assert int(count) >= 1
