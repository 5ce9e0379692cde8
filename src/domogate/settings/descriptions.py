"""The help text, the placeholder and the check of each setting, in the groups of --help and docs/settings.md."""

from domogate.common.checks import between, positive
from domogate.domain.languages import LANGUAGES
from domogate.domain.people import MOST_DAILY_QUOTA
from domogate.drivers.declaration import Setting
from domogate.identity.secret_keys import check_keys
from domogate.settings.backup_descriptions import BACKUPS
from domogate.settings.cluster_descriptions import CLUSTER
from domogate.settings.rules import (
    check_ages,
    check_database,
    check_host,
    check_https_url,
    check_logo,
    check_mailbox,
    check_networks,
    check_operator_name,
    check_price,
    check_public_url,
    check_rate,
    check_readable,
    check_terms,
    check_url,
    one_of,
    one_of_exactly,
    served_file,
)

PANELS: dict[str, dict[str, Setting]] = {
    "Where": {
        "data": Setting("DIR", "Folder of the database and of the gateway's other files."),
        "database": Setting(
            "URL",
            "Database URL, such as postgresql://user:password@host/name. Without this setting the gateway uses a SQLite file "
            "in the data folder.",
            check_database,
            secret=True,
        ),
        "secret_key_file": Setting(
            "FILE",
            "File with the key that encrypts the secrets in the database. Without this setting the gateway uses the systemd "
            "credential domogate-secret-key, or the file secret-key in the data folder; the gateway makes this file at the "
            "first start.",
            check_readable,
        ),
        "secret_key": Setting("KEY", "The key itself, instead of a file: 32 bytes in Base64.", check_keys, secret=True),
        "host": Setting(
            "ADDRESS", "Address or name to listen on. 0.0.0.0 or :: means every address of the machine.", check_host
        ),
        "port": Setting("PORT", "Port to listen on. 0 means any free port.", between(0, 65_535)),
        "public_url": Setting(
            "URL",
            "Address that clients use, an http(s) URL without query. It is part of every token. The default is "
            "http(s)://host:port. If host means every address of the machine, this setting is required.",
            check_public_url,
        ),
        "tls_certificate": served_file("Certificate chain (PEM). With tls_certificate and tls_key the gateway uses HTTPS."),
        "tls_key": served_file("Private key of the certificate (PEM), without a passphrase."),
        "trusted_proxies": Setting(
            "LIST",
            "Addresses and networks of proxies, separated by commas. The gateway uses the X-Forwarded-For and "
            "X-Forwarded-Proto headers of these proxies and ignores these headers from all other clients.",
            check_networks,
        ),
        "insecure_http": Setting(
            "true|false",
            "Listen on addresses other than loopback without TLS and without a trusted proxy. Tokens and passwords are then "
            "sent unencrypted.",
            bare_flag=True,
        ),
        "metrics_host": Setting("ADDRESS", "Address on which /metrics (Prometheus) listens.", check_host),
        "metrics_port": Setting(
            "PORT",
            "Port of /metrics, different from the port of the API. Without this setting there are no metrics.",
            between(0, 65_535),
        ),
    },
    "Cluster": CLUSTER,
    "Protocol guards": {
        "max_body": Setting("BYTES", "Longest request body. A request with a longer body gets 413.", between(1, 1 << 30)),
        "max_header": Setting(
            "BYTES", "Longest request line with headers, 1024 to 1048576. A longer request gets 431.", between(1024, 1 << 20)
        ),
        "header_deadline": Setting(
            "SECONDS",
            "Longest time from the first byte of a request to the end of its headers. A slower request gets 408. A new "
            "connection that sends nothing in this time is closed.",
            positive,
        ),
        "body_deadline": Setting(
            "SECONDS",
            "Longest time for the body after the headers. A client must also read its answer within this time.",
            positive,
        ),
        "keep_alive": Setting("SECONDS", "How long an idle connection is kept open.", positive),
        "connections_most": Setting(
            "NUMBER",
            "How many connections may be open at the same time. The number must be at least streams_most. 32 more connections "
            "are accepted, but get answers from /healthz and /readyz only. Each connection is an open file of the process, so "
            "its limit of open files must be higher than this number.",
            between(1, 1_000_000),
        ),
        "connections_most_per_address": Setting(
            "NUMBER",
            "How many connections one address, or one /64 network of IPv6, may have open at the same time. Addresses in "
            "trusted_proxies have no such limit.",
            between(1, 1_000_000),
        ),
        "drain": Setting(
            "SECONDS",
            "How long running requests may take after SIGTERM or SIGINT, 0 to 3600. A second signal ends them immediately.",
            between(0, 3600),
        ),
    },
    "Devices": {
        "device_deadline": Setting(
            "SECONDS",
            "How long a device may take to answer. After this time the answer is 408 if the operation lists 408.",
            positive,
        ),
        "state_max_age": Setting(
            "SECONDS",
            "Greatest age of a state that the gateway sends to a client without asking the device. If the state in memory is "
            "older, the gateway asks the device first.",
            between(0, 1e9),
        ),
        "state_max_ages": Setting(
            "KIND=SECONDS,…", "Values of state_max_age for single kinds of device, such as light=30,plug=10.", check_ages
        ),
        "simulator_awake_plants": Setting(
            "NUMBER",
            "How many plants with only simulated modules run at the same time. The simulation of other plants stops until "
            "they are used.",
            between(0, 1_000_000),
        ),
    },
    "Identity": {
        "access_token_lifetime": Setting("SECONDS", "Lifetime of an access token.", positive),
        "id_token_lifetime": Setting("SECONDS", "Lifetime of an id token.", positive),
        "ticket_lifetime": Setting("SECONDS", "Lifetime of a lock or camera ticket (E11, E15), at most 120.", between(1, 120)),
        "code_lifetime": Setting("SECONDS", "Lifetime of an authorization code, 1 to 600.", between(1, 600)),
        "refresh_token_lifetime": Setting("SECONDS", "Lifetime of an unused refresh token.", positive),
        "refresh_grace": Setting(
            "SECONDS",
            "How long a used refresh token gets the same new refresh token again, 0 to 300. If an answer is lost, the "
            "application can repeat its request, and the user stays logged in.",
            between(0, 300),
        ),
        "session_lifetime": Setting("SECONDS", "Longest lifetime of a browser session.", positive),
        "session_idle_lifetime": Setting("SECONDS", "Time without use after which a browser session ends.", positive),
        "link_lifetime": Setting("SECONDS", "Lifetime of a link to set a password or to confirm an e-mail address.", positive),
        "signing_algorithm": Setting(
            "NAME", "Signature algorithm of tokens: ES256 or RS256.", one_of_exactly("ES256", "RS256")
        ),
        "issuers": Setting(
            "JSON",
            "External issuers whose tokens are accepted: tables [[issuers]] in the TOML file, or JSON in a flag or variable.",
        ),
        "own_issuer": Setting(
            "true|false", "Whether the gateway accepts its own tokens. If false, it accepts only tokens of external issuers."
        ),
        "implicit_enabled": Setting("true|false", "Allow the implicit flow for clients that are registered for it."),
        "second_factor_required": Setting("true|false", "Require a second factor for every login."),
        "smtp_host": Setting(
            "ADDRESS",
            "Mail server that sends links (to set a password, to confirm an e-mail address). Without a mail server, the "
            "operator gets each link to set a password from the command or page that makes it. Owners can then invite new "
            "people only with an invitation link, and people who forget a password must ask the operator.",
            check_host,
        ),
        "smtp_port": Setting("PORT", "Port of the mail server.", between(1, 65_535)),
        "smtp_security": Setting(
            "WORD", "Encryption to the mail server: starttls, tls or none.", one_of("starttls", "tls", "none")
        ),
        "smtp_user": Setting("NAME", "User name at the mail server."),
        "smtp_password": Setting("TEXT", "Password at the mail server.", secret=True),
        "smtp_sender": Setting(
            "E-MAIL",
            "Sender address of the mails. Without it, the sender is domogate@HOST, with the host name of the mail server.",
            check_mailbox,
        ),
        "operator_name": Setting(
            "NAME",
            "Name of the person, company or building that runs the gateway. It is on the pages for people and in mails.",
            check_operator_name,
        ),
        "default_language": Setting(
            "CODE",
            "Language of pages and mails: de, en, fr or it. It is used if a person has not chosen a language, and the browser "
            "asks for none of these four languages.",
            one_of(*LANGUAGES),
        ),
        "terms_file": served_file(
            "Text file (UTF-8) with the terms of use. People accept this text. If the text changes, people who accepted "
            "the former text are asked again after the next start.",
            check_terms,
        ),
        "terms_url": Setting(
            "URL",
            "Address of the terms of use, an https:// URL, instead of terms_file. Give each version its own address: if the "
            "address changes, people are asked again.",
            check_https_url,
        ),
        "energy_price": Setting(
            "PRICE",
            "Price of a kilowatt hour, such as 0.28 EUR. With this setting, the home API also shows the costs of energy.",
            check_price,
        ),
    },
    "Pages": {
        "console": Setting(
            "true|false",
            "Serve the pages for people at /, and the documentation at /docs. If false, both answer 404; the APIs and the "
            "login pages remain.",
        ),
        "operator_logo": served_file(
            "Logo of the operator on the pages: an SVG or PNG file of at most 262144 bytes.", check_logo
        ),
        "self_service": Setting(
            "true|false",
            "Let every user register applications and get subscription keys for themselves, and inject faults into simulated "
            "devices of their own homes. In the demo it is true.",
        ),
        "self_service_quota": Setting(
            "NUMBER", "Daily quota of a key that a user gets by self_service.", between(1, MOST_DAILY_QUOTA)
        ),
        "self_service_rate": Setting(
            "RATE", "Rate of a key that a user gets by self_service, such as 10/second or 600/minute.", check_rate
        ),
    },
    "Families": {
        "echo_url": Setting(
            "URL",
            "HTTP service behind E20. Without this setting the gateway uses its embedded service.",
            check_url,
            secret=True,
        ),
        "echo_deadline": Setting(
            "SECONDS", "How long the echo service may take to answer. After this time the answer is 504.", positive
        ),
        "sunset": Setting(
            "NAME=DATE,…",
            "Removal dates of families or operations, sent in the Sunset header, such as touchpanel=2027-06-30,E11=2027-12-31.",
        ),
    },
    "Events": {
        "streams_most": Setting(
            "NUMBER",
            "How many event streams may be open at the same time. A request for one more stream gets 503.",
            between(0, 1_000_000),
        ),
        "streams_most_per_user": Setting(
            "NUMBER",
            "How many event streams one user may have open, in all applications together. A request for one more stream gets "
            "429. The limit is never more than half of streams_most.",
            between(1, 1_000_000),
        ),
        "streams_most_per_key": Setting(
            "NUMBER",
            "How many event streams may be open with one subscription key, for all users together. A request for one more "
            "stream gets 429. The limit is never more than half of streams_most.",
            between(1, 1_000_000),
        ),
        "webhook_networks": Setting(
            "LIST",
            "Private addresses and networks, separated by commas, that webhooks may call, even without TLS. In the demo, "
            "webhooks may call the same machine.",
            check_networks,
        ),
        "webhook_deadline": Setting(
            "SECONDS", "How long the receiver of a webhook may take to answer, 0.1 to 120.", between(0.1, 120)
        ),
        "webhook_given_up_days": Setting(
            "DAYS",
            "Age at which an event that was not accepted becomes a dead letter. It must be less than changes_kept_days.",
            positive,
        ),
        "dead_letters_kept_days": Setting("DAYS", "How long dead letters are kept.", positive),
    },
    "Memory and retention": {
        "world_modules": Setting("NUMBER", "How many modules the read model keeps in memory.", between(1, 1 << 40)),
        "changes_kept_days": Setting(
            "DAYS", "How long changes are kept. Streams can resume from changes of this period.", positive
        ),
        "readings_raw_days": Setting(
            "DAYS", "How long single readings are kept. After this time one summary for each hour replaces them.", positive
        ),
        "readings_kept_days": Setting("DAYS", "How long summaries of readings are kept.", positive),
        "readings_most": Setting(
            "NUMBER",
            "How many readings and summaries are kept in total, at least 1000. The oldest are deleted first.",
            between(1_000, 1 << 40),
        ),
        "orders_kept_days": Setting("DAYS", "How long ended orders are kept.", positive),
        "removed_plants_kept_days": Setting("DAYS", "How long E6 lists a removed plant as Removed.", positive),
        "audit_kept_days": Setting(
            "DAYS",
            "How long records of the audit log are kept, in whole UTC days. Without this setting they are never deleted.",
            positive,
        ),
    },
    "Backups": BACKUPS,
    "Logs": {
        "log_level": Setting(
            "LEVEL",
            "Lowest level of the lines in the log: debug, info, warning, error or critical.",
            one_of("debug", "info", "warning", "error", "critical"),
        ),
        "log_format": Setting(
            "FORMAT", "Format of the log: text or json. The log is written to standard error.", one_of("text", "json")
        ),
        "access_log": Setting(
            "true|false",
            "Log one line for each request (method, path, status, duration, client), without query strings, tokens and keys. "
            "The access log halves the throughput.",
        ),
        "slow_request": Setting(
            "SECONDS",
            "Log a warning for each request that takes longer than this time, with the path of its operation and what it "
            "waited for. Without this setting there is no such log.",
            positive,
        ),
        "trace_endpoint": Setting(
            "URL",
            "URL of a collector for OpenTelemetry traces (OTLP over HTTP), such as http://127.0.0.1:4318/v1/traces. It needs "
            "the packages of domogate[otel]. Without this setting there are no traces.",
            check_public_url,
        ),
        "trace_ratio": Setting("NUMBER", "Part of the traces that is recorded, 0 to 1.", between(0, 1)),
        "trust_traceparent": Setting(
            "true|false",
            "Continue the trace that the header traceparent of a request names. Set it only if a proxy replaces this header, "
            "or if you know all clients. Without this setting each request begins a new trace with a link to the trace of "
            "the client.",
        ),
    },
}
