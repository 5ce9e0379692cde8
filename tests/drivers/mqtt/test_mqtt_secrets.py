"""Brokers that require a certificate, a password or a permission; messages about refusals do not contain secrets."""

import datetime
import ipaddress
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from domogate.domain.commands import SetLight
from domogate.domain.devices import DeviceKind
from domogate.domain.faults import DeviceRefused
from domogate.domain.reachability import AbsenceReason
from domogate.domain.states import Report
from domogate.drivers.mqtt import MqttBroker
from support.driver_bench import is_absent
from support.mosquitto import mosquitto
from support.mqtt_setup import attached_module, running_driver, zigbee_lamp

pytestmark = pytest.mark.slow


def why(report: Report) -> AbsenceReason:
    assert report.absence is not None
    return report.absence.why


class TestSecrets:
    async def test_tls_and_a_password_from_a_file(self, tmp_path: Path) -> None:
        certificate(tmp_path)
        (tmp_path / "secret").write_text("correct horse\n")
        tls = (f"certfile {tmp_path / 'cert.pem'}", f"keyfile {tmp_path / 'key.pem'}")
        with mosquitto(tmp_path, *tls, users={"gateway": "correct horse"}, tls=True) as broker:
            config = MqttBroker(
                url=broker.url, username="gateway", password_file=str(tmp_path / "secret"), ca_file=str(tmp_path / "cert.pem")
            )
            heater = attached_module("h", DeviceKind.LIGHT, {"dialect": "generic", "state": {"on": {"topic": "h"}}}, known=True)
            async with running_driver(config) as bench:
                await bench.attach(heater)
                await bench.recorder.until(lambda: bench.driver.sessions["main"].connection is not None)

    async def test_a_self_signed_certificate_is_not_trusted(self, tmp_path: Path) -> None:
        certificate(tmp_path)
        tls = (f"certfile {tmp_path / 'cert.pem'}", f"keyfile {tmp_path / 'key.pem'}")
        with mosquitto(tmp_path, *tls, tls=True) as broker:
            lamp = zigbee_lamp("z")
            async with running_driver(MqttBroker(url=broker.url)) as bench:
                await bench.attach(lamp)
                report = await bench.recorder.report_of(lamp, is_absent)
                assert why(report) is AbsenceReason.CONNECTION_LOST
                assert report.absence is not None
                assert "certificate is not trusted" in report.absence.evidence

    async def test_a_wrong_password_is_shown_as_a_refusal_and_nowhere_in_words(self, tmp_path: Path) -> None:
        with mosquitto(tmp_path, users={"gateway": "right"}) as broker:
            lamp = zigbee_lamp("z")
            async with running_driver(MqttBroker(url=broker.url, username="gateway", password="wrong-secret")) as bench:
                await bench.attach(lamp)
                report = await bench.recorder.report_of(lamp, is_absent)
                assert why(report) is AbsenceReason.REFUSED
                assert report.absence is not None
                assert "not authorized" in report.absence.evidence or "bad user name" in report.absence.evidence
                assert "wrong-secret" not in report.absence.evidence

    async def test_a_topic_that_the_broker_does_not_permit_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "acl").write_text("user gateway\ntopic read #\ntopic write z/+/get\n\nuser device\ntopic readwrite #\n")
        users = {"gateway": "g", "device": "d"}
        with mosquitto(tmp_path, f"acl_file {tmp_path / 'acl'}", users=users) as broker:
            lamp = attached_module("l", DeviceKind.LIGHT, {"dialect": "zigbee2mqtt", "base": "z", "name": "lamp"}, known=True)
            async with running_driver(MqttBroker(url=broker.url, username="gateway", password="g")) as bench:
                await bench.attach(lamp)
                with pytest.raises(DeviceRefused, match="not authorized"):
                    await bench.driver.execute(bench.order(lamp, SetLight(on=True)))


def certificate(folder: Path) -> None:
    """A self-signed certificate for the loopback address."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, "broker")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), True)
        .sign(key, hashes.SHA256())
    )
    (folder / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "key.pem").write_bytes(private)
