"""The settings of a gateway that is a member of a cluster. `descriptions.py` has most other settings."""

from domogate.common.checks import between
from domogate.drivers.declaration import Setting
from domogate.settings.rules import check_cluster_name, check_nats_urls, served_file

CLUSTER: dict[str, Setting] = {
    "cluster": Setting(
        "NAME",
        "Name of the cluster. All gateways with this name share one PostgreSQL database (database) and the same NATS servers "
        "(nats). Set database, nats and cluster together. Clusters with different names can share a NATS server.",
        check_cluster_name,
    ),
    "knowledge_bound": Setting(
        "SECONDS",
        "Longest time for which a gateway of a cluster works although it cannot read the changes of the other gateways. After "
        "this time it is not ready and refuses requests that have a token. So the withdrawal of a right takes effect at all "
        "gateways after this time at the latest.",
        between(0.5, 60),
    ),
    "nats": Setting(
        "URLS",
        "Addresses of the NATS servers, separated by commas, such as nats://10.0.0.5:4222 or tls://nats.example.com. The "
        "gateway uses one of these servers. If the connection to this server is lost, it uses another server.",
        check_nats_urls,
        secret=True,
    ),
    "nats_user": Setting("NAME", "User name for the NATS servers."),
    "nats_password": Setting("PASSWORD", "Password of nats_user.", secret=True),
    "nats_token": Setting("TOKEN", "Token for the NATS servers, instead of a user name.", secret=True),
    "nats_nkey": Setting("SEED", "Seed of the NKey for the NATS servers. It begins with SU.", secret=True),
    "nats_credentials": served_file("Credentials file for the NATS servers (a JWT and its seed)."),
    "nats_tls_ca": served_file(
        "Certificates (PEM) of the authorities that may sign the certificates of the NATS servers. Without this setting the "
        "authorities of the system are used."
    ),
    "nats_tls_certificate": served_file("Certificate (PEM) that the gateway shows to the NATS servers."),
    "nats_tls_key": served_file("Private key (PEM) of nats_tls_certificate, without a passphrase."),
}
