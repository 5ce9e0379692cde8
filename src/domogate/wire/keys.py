"""The JSON model of subscription keys, for developers and for operators."""

from datetime import datetime

from domogate.wire import OutputModel


class KeyOut(OutputModel, frozen=True):
    """The fields that all JSON models of a subscription key have."""

    id: str
    name: str
    hint: str
    rate: str | None
    daily_quota: int | None
    used_today: int
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
