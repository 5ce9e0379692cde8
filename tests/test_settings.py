"""Sources and values of settings, and messages about mistakes."""

from pathlib import Path

import msgspec
import pytest

from domogate.domain.devices import DeviceKind
from domogate.drivers import mqtt, openwebnet
from domogate.families import FAMILIES
from domogate.settings import BadSettings, Settings, load_settings
from domogate.settings.declared import DECLARED, FILES, list_flags
from domogate.settings.rules import KIND_OF_VALUE
from support.settings_mistakes import mistakes


@pytest.fixture
def toml(tmp_path: Path) -> Path:
    return tmp_path / "domogate.toml"


def without_sources(settings: Settings) -> Settings:
    return msgspec.structs.replace(settings, sources={})


class TestPrecedence:
    def test_nothing_given_is_the_defaults(self) -> None:
        assert load_settings({}, {}, None) == Settings()

    def test_flags_before_variables_before_the_file_before_defaults(self, toml: Path) -> None:
        toml.write_text("port = 1\nmax_body = 2\nkeep_alive = 3\n")
        settings = load_settings({"port": 10}, {"DOMOGATE_PORT": "20", "DOMOGATE_MAX_BODY": "30"}, toml)
        assert (settings.port, settings.max_body, settings.keep_alive, settings.drain) == (10, 30, 3.0, 10.0)

    def test_what_is_overridden_is_not_complained_about(self) -> None:
        assert load_settings({"port": "1"}, {"DOMOGATE_PORT": "nonsense"}, None).port == 1

    def test_a_flag_that_is_none_and_a_variable_that_is_empty_are_not_given(self) -> None:
        assert load_settings({"port": None}, {"DOMOGATE_HOST": ""}, None) == Settings()

    def test_a_flag_may_be_spelled_with_dashes(self) -> None:
        settings = load_settings({"max-body": "5", "--drain": 2}, {}, None)
        assert (settings.max_body, settings.drain) == (5, 2.0)

    def test_the_place_of_each_given_setting_is_known(self, toml: Path) -> None:
        toml.write_text("\nmax_body = 2\nport = 1\n")
        password = toml.with_name("password")
        password.write_text("a password\n")
        environ = {"DOMOGATE_PORT": "20", "DOMOGATE_SMTP_PASSWORD_FILE": str(password)}
        assert load_settings({"drain": "3"}, environ, toml).sources == {
            "max_body": "domogate.toml line 2",
            "port": "variable DOMOGATE_PORT",
            "smtp_password": "variable DOMOGATE_SMTP_PASSWORD_FILE",
            "drain": "flag --drain",
        }

    def test_the_file_may_be_named_by_a_variable(self, toml: Path) -> None:
        toml.write_text("port = 1\n")
        assert load_settings({}, {"DOMOGATE_CONFIG": str(toml)}, None).port == 1

    def test_variables_of_others_and_of_the_tools_are_left_alone(self) -> None:
        environ = {"PATH": "/bin", "DOMOGATE": "x", "DOMOGATE_TRACEBACK": "1", "DOMOGATE_PYTHON": "python3"}
        assert load_settings({}, environ, None) == Settings()


class TestValues:
    def test_texts_become_what_the_setting_is(self) -> None:
        environ = {
            "DOMOGATE_PORT": "0",
            "DOMOGATE_DRAIN": "2.5",
            "DOMOGATE_ACCESS_LOG": "true",
            "DOMOGATE_DATA": "/var/lib/domogate",
            "DOMOGATE_TRUSTED_PROXIES": "10.0.0.1, 10.1.0.0/16,::1",
            "DOMOGATE_STATE_MAX_AGES": "light=30, plug=10,audiovideo unit=5,emergency_unit=7",
            "DOMOGATE_SUNSET": "touchpanel=2027-06-30,E11=2028-01-01",
            "DOMOGATE_LOG_LEVEL": "DEBUG",
            "DOMOGATE_METRICS_PORT": "9100",
        }
        assert without_sources(load_settings({}, environ, None)) == Settings(
            port=0,
            drain=2.5,
            access_log=True,
            data=Path("/var/lib/domogate"),
            trusted_proxies=("10.0.0.1", "10.1.0.0/16", "::1"),
            state_max_ages={
                DeviceKind.LIGHT: 30.0,
                DeviceKind.PLUG: 10.0,
                DeviceKind.AUDIOVIDEO_UNIT: 5.0,
                DeviceKind.EMERGENCY_UNIT: 7.0,
            },
            sunset={"touchpanel": "2027-06-30", "E11": "2028-01-01"},
            log_level="debug",
            metrics_port=9100,
        )

    def test_the_file_has_lists_tables_and_dates(self, toml: Path) -> None:
        toml.write_text(
            'trusted_proxies = ["10.0.0.0/8"]\nkeep_alive = 5\n[state_max_ages]\nlight = 30\n"audiovideo unit" = 1.5\n'
            "[sunset]\nE11 = 2027-01-01\ntouchpanel = '2027-01-02'\n"
        )
        assert without_sources(load_settings({}, {}, toml)) == Settings(
            trusted_proxies=("10.0.0.0/8",),
            keep_alive=5.0,
            state_max_ages={DeviceKind.LIGHT: 30.0, DeviceKind.AUDIOVIDEO_UNIT: 1.5},
            sunset={"E11": "2027-01-01", "touchpanel": "2027-01-02"},
        )

    def test_a_certificate_and_its_key(self, tmp_path: Path) -> None:
        certificate, key = tmp_path / "c.pem", tmp_path / "k.pem"
        certificate.touch()
        key.touch()
        settings = load_settings({"tls_certificate": certificate, "tls_key": str(key)}, {}, None)
        assert (settings.tls_certificate, settings.tls_key) == (certificate, key)

    @pytest.mark.parametrize(
        "url", ["http://gateway", "https://gateway.example:8443", "https://example.com/base/", "http://[::1]:1"]
    )
    def test_public_urls(self, url: str) -> None:
        assert load_settings({"public_url": url}, {}, None).base_url == url.rstrip("/")

    @pytest.mark.parametrize(
        ("flags", "base_url"),
        [
            ({"public_url": "https://Home.Example.com:443/"}, "https://home.example.com"),
            ({"public_url": "HTTPS://home.example.com"}, "https://home.example.com"),
            ({"public_url": "http://home.example.com:80/Base/"}, "http://home.example.com/Base"),
            ({"public_url": "http://home.example.com:443"}, "http://home.example.com:443"),
            ({"public_url": "https://häuser.example"}, "https://xn--huser-gra.example"),
            ({"public_url": "https://straße.example"}, "https://straße.example"),
            ({"public_url": "https://[2001:DB8:0::1]"}, "https://[2001:db8::1]"),
            ({"port": 80}, "http://127.0.0.1"),
            ({"host": "Server", "port": 8080}, "http://server:8080"),
            ({"host": "::1"}, "http://[::1]:8080"),
            ({"host": "127.0.0.1:8080"}, "http://[127.0.0.1:8080]:8080"),
        ],
    )
    def test_the_base_url_has_the_origin_that_browsers_send(self, flags: dict[str, object], base_url: str) -> None:
        assert load_settings(flags, {}, None).base_url == base_url

    def test_a_scheme_in_capital_letters_is_https(self) -> None:
        flags = {"public_url": "HTTPS://home.example.com", "trusted_proxies": "127.0.0.1"}
        assert load_settings(flags, {}, None).only_https

    def test_sunsets_of_known_names(self) -> None:
        known = frozenset({"touchpanel", "E11"})
        assert load_settings({"sunset": "E11=2027-01-01"}, {}, None, list_sunset_names=lambda: known).sunset == {
            "E11": "2027-01-01"
        }
        with pytest.raises(BadSettings, match=r"'touchpanle' is neither an operation.*did you mean touchpanel"):
            load_settings({"sunset": "touchpanle=2027-01-01"}, {}, None, list_sunset_names=lambda: known)

    def test_every_operation_can_have_a_sunset(self) -> None:
        for operation in (operation for family in FAMILIES for operation in family.operations):
            assert load_settings({"sunset": f"{operation.id}=2027-01-01"}, {}, None).sunset == {operation.id: "2027-01-01"}


class TestCompleteness:
    def test_every_type_has_a_description_for_messages(self) -> None:
        assert [name for name, one in DECLARED.items() if one.type not in KIND_OF_VALUE] == []


class TestSecrets:
    def test_each_can_be_given_as_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "password").write_text("hunter2\n")
        (tmp_path / "brokers").write_text('[{"url": "mqtt://broker.example"}]\n')
        (tmp_path / "url").write_text("postgresql://u:hunter2@host/name\r\n")
        settings = load_settings(
            {"smtp_password_file": str(tmp_path / "password")},
            {"DOMOGATE_MQTT_BROKERS_FILE": str(tmp_path / "brokers"), "DOMOGATE_DATABASE_FILE": str(tmp_path / "url")},
        )
        assert settings.smtp_password == "hunter2"
        assert settings.database == "postgresql://u:hunter2@host/name"
        assert [broker.host for broker in mqtt.DRIVER.settings_in(settings.drivers).brokers] == ["broker.example"]
        assert set(FILES.values()) >= {"smtp_password", "mqtt_brokers", "openwebnet_gateways", "database", "echo_url"}

    def test_the_file_keeps_the_precedence_of_its_source(self, tmp_path: Path, toml: Path) -> None:
        (tmp_path / "password").write_text("of the flag")
        toml.write_text('smtp_password = "of the file"\n')
        assert load_settings({"smtp_password_file": tmp_path / "password"}, {}, toml).smtp_password == "of the flag"
        toml.write_text(f"smtp_password_file = {str(tmp_path / 'password')!r}\n")
        assert load_settings({}, {"DOMOGATE_SMTP_PASSWORD": "of the variable"}, toml).smtp_password == "of the variable"

    def test_the_value_and_the_file_in_one_source_are_a_mistake(self, tmp_path: Path) -> None:
        (tmp_path / "x").write_text("x")
        (told,) = mistakes({}, {"DOMOGATE_SMTP_PASSWORD": "hunter2", "DOMOGATE_SMTP_PASSWORD_FILE": str(tmp_path / "x")})
        assert "give only one" in told
        assert "hunter2" not in told

    @pytest.mark.parametrize("content", [None, b"\xff\xfe"])
    def test_a_file_that_cannot_be_read(self, tmp_path: Path, content: bytes | None) -> None:
        if content is not None:
            (tmp_path / "x").write_bytes(content)
        (told,) = mistakes({"smtp_password_file": str(tmp_path / "x")})
        assert told.startswith("smtp_password_file (flag --smtp-password-file): ")
        assert "cannot be read" in told

    @pytest.mark.parametrize(
        ("name", "url"),
        [
            ("database", "postgresql://user:hunter2@host/name"),
            ("database", "postgresql://host/name?user=u&password=hunter2"),
            ("echo_url", "http://user:hunter2@host/"),
        ],
    )
    def test_a_url_with_a_password_is_refused_as_a_flag_only(self, name: str, url: str) -> None:
        (told,) = mistakes({name: url})
        assert f"--{name.replace('_', '-')}-file FILE" in told
        assert "hunter2" not in told
        assert getattr(load_settings({}, {f"DOMOGATE_{name.upper()}": url}), name) == url
        assert load_settings({"database": "postgresql://user@host:5432/name"}, {}).database

    def test_none_is_a_flag(self) -> None:
        assert not {"smtp_password", "secret_key", "mqtt_brokers", "openwebnet_gateways"} & set(list_flags())


class TestTablesOfDrivers:
    def test_brokers_and_gateways_are_tables_of_the_file(self, tmp_path: Path) -> None:
        file = tmp_path / "domogate.toml"
        file.write_text(
            '[[mqtt_brokers]]\nname = "house"\nurl = "mqtts://broker.example"\nusername = "u"\npassword = "p4ss"\n'
            '[[openwebnet_gateways]]\nname = "bus"\nhost = "192.0.2.7"\npassword = "12345"\n'
        )
        settings = load_settings({}, {}, file)
        assert [(broker.name, broker.port) for broker in mqtt.DRIVER.settings_in(settings.drivers).brokers] == [("house", 8883)]
        assert [gateway.address for gateway in openwebnet.DRIVER.settings_in(settings.drivers).gateways] == ["192.0.2.7:20000"]

    def test_a_variable_holds_them_as_json(self) -> None:
        settings = load_settings({}, {"DOMOGATE_MQTT_BROKERS": '[{"url": "mqtt://broker.example"}]'})
        assert [broker.host for broker in mqtt.DRIVER.settings_in(settings.drivers).brokers] == ["broker.example"]

    @pytest.mark.parametrize(
        ("variable", "text", "words"),
        [
            ("DOMOGATE_MQTT_BROKERS", '[{"url": "http://broker.example", "password": "p4ss"}]', "mqtt://"),
            ("DOMOGATE_MQTT_BROKERS", '[{"url": "mqtt://a", "password": "p4ss"}]', "username"),
            ("DOMOGATE_MQTT_BROKERS", '[{"url": "mqtt://a"}, {"url": "mqtt://b"}]', "needs a different name"),
            ("DOMOGATE_MQTT_BROKERS", "mqtt://a", "a JSON list of brokers"),
            ("DOMOGATE_MQTT_BROKERS", '[{"host": "a", "password": "p4ss"}]', "host is not known; use url, name, username"),
            ("DOMOGATE_OPENWEBNET_GATEWAYS", '[{"name": "bus", "host": "h", "password": "p4ss-word"}]', "password"),
        ],
    )
    def test_a_mistake_is_told_without_repeating_a_password(self, variable: str, text: str, words: str) -> None:
        with pytest.raises(BadSettings) as told:
            load_settings({}, {variable: text})
        assert words in str(told.value)
        assert "p4ss" not in str(told.value)
