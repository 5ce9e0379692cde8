"""A self-signed certificate for 127.0.0.1."""

import datetime
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from domogate.edge.server import Tls


def make_self_signed(tmp_path: Path, *, begins: float = -1 / 1440, ends: float = 1, name: str = "localhost") -> Tls:
    """`begins` and `ends` are days from now."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    names = [x509.IPAddress(ipaddress.ip_address("127.0.0.1")), x509.DNSName(name)]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + datetime.timedelta(days=begins))
        .not_valid_after(now + datetime.timedelta(days=ends))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(key, hashes.SHA256())
    )
    tls = Tls(tmp_path / "certificate.pem", tmp_path / "key.pem")
    tls.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    tls.key.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return tls
