"""The settings of a broker."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from domogate.app.parts import SystemClock
from domogate.drivers.mqtt import MqttBroker
from domogate.drivers.mqtt.driver import Mqtt


class TestMqttBroker:
    def test_host_port_and_tls_follow_from_the_url(self) -> None:
        plain, secure = MqttBroker(url="mqtt://broker.lan"), MqttBroker(url="mqtts://[::1]:9999/")
        assert (plain.host, plain.port, plain.tls) == ("broker.lan", 1883, False)
        assert (secure.host, secure.port, secure.tls) == ("::1", 9999, True)
        assert MqttBroker(url="mqtts://b").port == 8883

    @pytest.mark.parametrize(
        ("given", "words"),
        [
            ({"url": "http://b"}, "begins with mqtt://"),
            ({"url": "mqtt://"}, "a host is expected"),
            ({"url": "mqtt://b:0"}, "a host is expected"),
            ({"url": "mqtt://bus..example"}, "a host is expected"),
            ({"url": f"mqtt://{'b' * 64}.example"}, "a host is expected"),
            ({"url": "mqtt://b:99999"}, "not a URL"),
            ({"url": "mqtt://anna:secret@b"}, "in username and password"),
            ({"url": "mqtt://b/x"}, "nothing is expected after"),
            ({"url": "mqtt://b", "name": ""}, "needs a name"),
            ({"url": "mqtt://b", "password": "x"}, "needs a username"),
            ({"url": "mqtt://b", "username": "a", "password": "x", "password_file": "y"}, "not both"),
            ({"url": "mqtt://b", "ca_file": "x"}, "are for mqtts://"),
            ({"url": "mqtts://b", "client_key": "x"}, "must be given together"),
            ({"url": "mqtt://b", "keepalive": 1}, "5 to 3600"),
            ({"url": "mqtt://b", "client_id": ""}, "1 to 128"),
        ],
    )
    def test_a_contradictory_one_is_refused_with_words(self, given: dict[str, Any], words: str) -> None:
        with pytest.raises(msgspec.ValidationError, match=words):
            msgspec.convert(given, MqttBroker)

    @pytest.mark.parametrize("password", ["horse", "hor@se", "hor/se", "hor?se"])
    def test_a_message_about_a_url_does_not_contain_its_password(self, password: str) -> None:
        with pytest.raises(ValueError, match="cannot be used") as refused:
            MqttBroker(url=f"mqtt://anna:{password}@broker.lan")
        assert "hor" not in str(refused.value)
        assert "se@" not in str(refused.value)
        assert "broker.lan" in str(refused.value)

    def test_its_password_is_never_printed(self) -> None:
        assert "hunter2" not in repr(MqttBroker(url="mqtt://b", username="a", password="hunter2"))

    def test_a_password_file_is_read_by_its_first_line(self, tmp_path: Path) -> None:
        (tmp_path / "p").write_text("correct horse\nbattery\n")
        assert MqttBroker(url="mqtt://b", username="a", password_file=str(tmp_path / "p")).read_password() == "correct horse"
        (tmp_path / "p").write_text("")
        assert MqttBroker(url="mqtt://b", username="a", password_file=str(tmp_path / "p")).read_password() == ""

    def test_two_of_the_same_name_are_refused(self) -> None:
        with pytest.raises(ValueError, match="same name"):
            Mqtt(SystemClock(), [MqttBroker(url="mqtt://a"), MqttBroker(url="mqtt://b")])
