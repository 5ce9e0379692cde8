"""The settings that make a gateway a member of a cluster."""

from pathlib import Path
from typing import Any

import pytest

from domogate.settings import BadSettings, Settings, check_cluster, load_settings

SERVER = "postgresql://gate@db.example.com/domogate"
MEMBER: dict[str, Any] = {"database": SERVER, "nats": ("nats://10.0.0.5:4222",), "cluster": "north"}


def mistakes_of(**settings: Any) -> str:
    with pytest.raises(BadSettings) as refused:
        check_cluster(Settings(**settings))
    return str(refused.value)


def test_a_gateway_with_all_three_is_a_member_and_one_with_none_is_not() -> None:
    check_cluster(Settings(**MEMBER))
    check_cluster(Settings())
    check_cluster(Settings(database="sqlite:///homes.sqlite3"))


@pytest.mark.parametrize(
    "missing",
    [("database",), ("nats",), ("cluster",), ("database", "cluster"), ("database", "nats"), ("nats", "cluster")],
)
def test_a_missing_setting_is_named(missing: tuple[str, ...]) -> None:
    said = mistakes_of(**{name: value for name, value in MEMBER.items() if name not in missing})
    assert f"Set {' and '.join(missing)} too" in said


def test_a_sqlite_file_cannot_be_shared() -> None:
    assert "Set database too" in mistakes_of(**MEMBER | {"database": "sqlite:///homes.sqlite3"})


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"nats_user": "gate"}, "nats_password is missing"),
        ({"nats_password": "x"}, "nats_user is missing"),
        ({"nats_user": "gate", "nats_password": "x", "nats_token": "y"}, "give only one of"),
        ({"nats_tls_certificate": Path("c.pem")}, "nats_tls_key is missing"),
    ],
)
def test_settings_that_do_not_fit_together_are_refused(settings: dict[str, Any], said: str) -> None:
    assert said in mistakes_of(**MEMBER, **settings)


def test_backups_by_the_gateway_are_refused_with_what_to_use_instead() -> None:
    said = mistakes_of(**MEMBER, backup_every=86_400.0)
    assert "pg_basebackup" in said
    assert "Remove this setting" in said
    check_cluster(Settings(database="sqlite:///homes.sqlite3", backup_every=86_400.0))


def test_access_without_a_server_is_refused() -> None:
    assert "it has no effect, because nats is not set" in mistakes_of(nats_token="x")


def test_several_servers_are_separated_by_commas() -> None:
    settings = load_settings({"nats": "nats://10.0.0.5:4222, tls://nats.example.com"}, {})
    assert settings.nats == ("nats://10.0.0.5:4222", "tls://nats.example.com")


@pytest.mark.parametrize(
    ("flags", "allowed"),
    [
        ({"nats": "10.0.0.5:4222"}, "a list of nats:// or tls:// URLs is allowed"),
        ({"nats": "http://10.0.0.5"}, "a list of nats:// or tls:// URLs is allowed"),
        ({"cluster": "North wing"}, "lower-case letters, digits and hyphens"),
        ({"cluster": "a.b"}, "lower-case letters, digits and hyphens"),
    ],
)
def test_a_value_that_is_not_allowed_is_refused(flags: dict[str, object], allowed: str) -> None:
    with pytest.raises(BadSettings, match=allowed):
        load_settings(flags, {})


def test_a_password_in_the_url_is_not_shown_and_not_a_flag() -> None:
    with pytest.raises(BadSettings) as refused:
        load_settings({"nats": "nats://gate:secret@10.0.0.5"}, {})
    assert "--nats-file" in str(refused.value)
    assert "secret" not in str(refused.value)
