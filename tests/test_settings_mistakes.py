"""Mistakes in settings: messages that say what to change, and never another exception."""

import os
import string
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from domogate.drivers import DRIVERS
from domogate.settings import BadSettings, Mistake, Settings, load_settings
from domogate.settings.declared import DECLARED
from support.settings_mistakes import mistakes

NAMES = list(DECLARED)


@pytest.fixture
def toml(tmp_path: Path) -> Path:
    return tmp_path / "domogate.toml"


class TestMistakes:
    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("port", "65536"),
            ("port", "-1"),
            ("port", "eighty"),
            ("port", "80.5"),
            ("port", ""),
            ("port", True),
            ("metrics_port", "70000"),
            ("trace_endpoint", "http://user:password@collector:4318/v1/traces"),
            ("trace_ratio", "1.5"),
            ("max_body", "0"),
            ("max_header", "10"),
            ("header_deadline", "0"),
            ("header_deadline", "-1"),
            ("body_deadline", "nan"),
            ("keep_alive", "inf"),
            ("drain", "-1"),
            ("link_lifetime", "1e12"),
            ("readings_kept_days", "1e18"),
            ("device_deadline", "soon"),
            ("state_max_age", "-1"),
            ("state_max_ages", "light"),
            ("state_max_ages", "lamp=3"),
            ("state_max_ages", "light=-3"),
            ("state_max_ages", "light=3,light=4"),
            ("simulator_seed", "-1"),
            ("access_log", "maybe"),
            ("host", "a b"),
            ("host", "http://a"),
            ("public_url", "gateway"),
            ("public_url", "ftp://gateway"),
            ("public_url", "http://"),
            ("public_url", "http://gateway?x=1"),
            ("public_url", "http://gateway#x"),
            ("public_url", "http://user@gateway"),
            ("public_url", "http://gateway:99999"),
            ("public_url", "//gateway"),
            ("trusted_proxies", "10.0.0.1/8"),
            ("trusted_proxies", "proxy.example"),
            ("trusted_proxies", "10.0.0.1,*"),
            ("tls_certificate", "/no/such/file"),
            ("sunset", "E11=tomorrow"),
            ("sunset", "E11=2027-02-30"),
            ("sunset", "E11=20270101"),
            ("sunset", "E21=2027-01-01"),
            ("sunset", "Touch Panel=2027-01-01"),
            ("log_level", "loud"),
            ("log_format", "xml"),
            ("echo_url", "localhost:9"),
            ("audit_kept_days", "0"),
            ("webhook_networks", "receiver.example"),
            ("webhook_networks", "10.0.0.1/8"),
            ("webhook_deadline", "0"),
            ("streams_most", "-1"),
            ("connections_most", "0"),
            ("connections_most_per_address", "0"),
            ("ticket_lifetime", "121"),
            ("audit_kept_days", "for ever"),
            ("operator_name", "x" * 101),
            ("operator_name", "Hotel\nAurora"),
            ("operator_name", "Hotel\u2028Aurora"),
            ("default_language", "pt"),
            ("terms_file", "/no/such/file"),
            ("terms_file", "/dev/null"),
            ("terms_file", "/dev/zero"),
            ("terms_url", "http://example.com/terms"),
            ("terms_url", "javascript:alert(1)"),
            ("terms_url", "https://"),
            ("terms_url", "https://user@example.com/"),
            ("terms_url", "https://example.com/the terms"),
            ("terms_url", "https://[/"),
            ("terms_url", "//example.com/terms"),
            ("database", "not a url"),
            ("world_modules", "0"),
            ("data", "a\0b"),
        ],
    )
    def test_a_bad_value_names_setting_source_value_and_what_is_allowed(self, name: str, value: object) -> None:
        if value == "":
            value = " "
        first = mistakes({name: value})[0]
        assert first.startswith(f"{name} (flag --{name.replace('_', '-')}): ")
        assert (
            "allowed" in first
            or "neither an operation" in first
            or "network" in first
            or "each name" in first
            or "cannot be read" in first
        )
        if name not in ("database", "echo_url"):
            assert repr(value)[:57] in first

    def test_all_mistakes_are_told_at_once_with_where_they_stand(self, toml: Path) -> None:
        toml.write_text("\n# comment\nmax_body = 'x'\n[state_max_ages]\nlamp = 3\n")
        told = mistakes({"port": "x"}, {"DOMOGATE_DRAIN": "x"}, toml)
        assert [line.split(":")[0] for line in told] == [
            "max_body (domogate.toml line 3)",
            "state_max_ages (domogate.toml line 4)",
            "drain (variable DOMOGATE_DRAIN)",
            "port (flag --port)",
        ]

    @pytest.mark.parametrize(
        ("flags", "named"),
        [
            ({"webhook_given_up_days": "7"}, "webhook_given_up_days (flag --webhook-given-up-days)"),
            ({"changes_kept_days": "2"}, "changes_kept_days (flag --changes-kept-days)"),
        ],
    )
    def test_deleting_changes_before_deliveries_are_given_up_is_a_mistake(self, flags: dict[str, str], named: str) -> None:
        (told,) = mistakes(flags)
        assert told.startswith(named)
        assert "must be less than changes_kept_days" in told

    @pytest.mark.parametrize(
        ("flags", "named"),
        [
            ({"streams_most": "6001"}, "streams_most (flag --streams-most)"),
            ({"connections_most": "4999"}, "connections_most (flag --connections-most)"),
        ],
    )
    def test_more_streams_than_connections_are_a_mistake(self, flags: dict[str, str], named: str) -> None:
        (told,) = mistakes(flags)
        assert told.startswith(named)
        assert "must not be more than connections_most" in told

    def test_an_unknown_name_is_a_mistake_with_the_nearest_one(self, toml: Path) -> None:
        toml.write_text("prot = 1\n")
        assert mistakes({"max_boddy": 1}, {"DOMOGATE_HOTS": "x", "DOMOGATE_XYZZY_Q": "x"}, toml) == [
            "prot (domogate.toml line 1): there is no such setting; did you mean port.",
            "hots (variable DOMOGATE_HOTS): there is no such setting; did you mean DOMOGATE_HOST.",
            "xyzzy_q (variable DOMOGATE_XYZZY_Q): there is no such setting.",
            "max_boddy (flag --max-boddy): there is no such setting; did you mean max_body.",
        ]

    @pytest.mark.parametrize("name", ["database", "echo_url"])
    def test_what_may_hold_a_password_is_never_repeated(self, name: str) -> None:
        assert "hunter2" not in "\n".join(mistakes({name: "x user:hunter2@host"}))

    def test_a_long_value_is_cut_short(self) -> None:
        assert len(mistakes({"port": "9" * 5000})[0]) < 200

    @pytest.mark.parametrize(("one", "other"), [("tls_certificate", "tls_key"), ("tls_key", "tls_certificate")])
    def test_a_certificate_without_its_key_or_the_reverse(self, one: str, other: str, tmp_path: Path) -> None:
        (tmp_path / "x.pem").touch()
        (told,) = mistakes({one: tmp_path / "x.pem"})
        assert told.startswith(f"{one} (flag --{one.replace('_', '-')}): {other} is missing")

    def test_terms_are_a_file_or_an_address_and_not_both(self, tmp_path: Path) -> None:
        (tmp_path / "terms.txt").write_text("Be kind.")
        (told,) = mistakes({"terms_file": tmp_path / "terms.txt", "terms_url": "https://example.com/terms"})
        assert told.startswith("terms_file (flag --terms-file): terms_url (flag --terms-url) is given too")

    @pytest.mark.parametrize("content", [b"", b" \n", b"\xff\xfe", b"x" * 300_000])
    def test_a_file_of_terms_that_is_not_a_text(self, tmp_path: Path, content: bytes) -> None:
        (tmp_path / "terms.txt").write_bytes(content)
        (told,) = mistakes({"terms_file": tmp_path / "terms.txt"})
        assert "UTF-8" in told

    def test_a_key_that_may_not_be_read(self, tmp_path: Path) -> None:
        assert any("Is a directory" in line for line in mistakes({"tls_key": tmp_path, "tls_certificate": tmp_path}))

    @pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
    def test_metrics_on_the_port_of_the_api(self, host: str) -> None:
        (told,) = mistakes({"host": host, "metrics_port": 8080})
        assert told.startswith("metrics_port (flag --metrics-port): 8080 is the port of the API;")

    @pytest.mark.parametrize(
        "content", [b"port = ", b"port = 1\nport = 2", b"\xff\xfe", b"= 3", b"a = [[[[[", b"\x00"], ids=repr
    )
    def test_a_file_that_is_no_toml(self, content: bytes, toml: Path) -> None:
        toml.write_bytes(content)
        (told,) = mistakes(file=toml)
        assert told.startswith(f"config (file {toml}): it cannot be read as TOML")

    def test_a_file_that_is_not_there(self, toml: Path) -> None:
        assert "No such file" in mistakes(file=toml)[0]

    def test_the_file_is_strict_about_types(self, toml: Path) -> None:
        toml.write_text("port = '80'\naccess_log = 1\ntrusted_proxies = '::1'\nhost = 3\ndata = 1\nsunset = {E11 = 3}\n")
        assert len(mistakes(file=toml)) == 6


_ANYTHING: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.dates() | st.datetimes(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


_ENVIRONMENT_TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])) | st.text(string.printable)


class TestOnlyBadSettings:
    @given(flags=st.dictionaries(st.sampled_from(NAMES) | st.text(), _ANYTHING, max_size=5))
    @example(flags={"port": 10**400})
    @example(flags={"keep_alive": "1e999"})
    @example(flags={"data": ""})
    @example(flags={"tls_key": "x" * 5000})
    @example(flags={"public_url": "http://[x"})
    def test_whatever_the_flags(self, flags: dict[str, Any]) -> None:
        check(flags, {})

    @given(
        environ=st.dictionaries(
            st.sampled_from(NAMES).map(lambda name: f"DOMOGATE_{name.upper()}"), _ENVIRONMENT_TEXT, max_size=5
        )
    )
    def test_whatever_the_environment(self, environ: dict[str, str]) -> None:
        check({}, environ)

    @given(
        text=st.text(),
        name=st.sampled_from(NAMES),
        value=st.sampled_from(["''", "nan", "{}", "[]", "1979-05-27", "07:32:00", "-1"]),
    )
    def test_whatever_the_file(self, text: str, name: str, value: str, tmp_path_factory: pytest.TempPathFactory) -> None:
        file = tmp_path_factory.getbasetemp() / "any.toml"
        for content in (text, f"{name} = {value}"):
            file.write_text(content, "utf-8", errors="surrogatepass")
            check({}, {}, file)

    def test_a_name_that_is_no_variable_of_ours_at_all(self) -> None:
        assert load_settings({}, dict(os.environ) | {"domogate_port": "1"}, None).port != 1


def check(flags: dict[str, Any], environ: dict[str, str], file: Path | None = None) -> None:
    """Any input gives correct settings, or BadSettings with at least one mistake, one line for each mistake."""
    told: tuple[Mistake, ...] | None = None
    try:
        settings = load_settings(flags, environ, file)
    except BadSettings as bad:
        told = bad.mistakes
    if told is None:
        plain = msgspec.to_builtins(settings, enc_hook=str)
        own = msgspec.convert(plain, Settings, dec_hook=lambda kind, value: kind(value))
        assert msgspec.structs.replace(own, drivers=settings.drivers) == settings
        for name, driver in DRIVERS.items():
            assert msgspec.convert(plain["drivers"][name], driver.settings) == settings.drivers[name]
    else:
        assert told
        assert all(mistake.source and mistake.problem for mistake in told)
