"""Reasons why a ticket was not redeemed or a picture was not given, as codes for SDKs."""

from enum import StrEnum

from domogate.domain.faults import DeviceOffline, DeviceRefused, DeviceTimeout, Fault


class Reason(StrEnum):
    """The reason of a refusal. These words must not change: they are on the wire, in the audit log and in the metrics."""

    INVALID = "invalid"
    """This gateway did not sign the ticket or picture token for this purpose, or the permit is not valid yet."""
    EXPIRED = "expired"
    WITHDRAWN = "right-withdrawn"
    """The user, grant, client, scope or right on the plant was removed after the ticket was issued."""
    PASSWORD_TO_RENEW = "password-to-renew"
    TERMS_TO_ACCEPT = "terms-to-accept"
    NO_SUCH_DEVICE = "no-such-device"
    """The plant or module does not exist any more. Or the module has another kind now, or a guest may not use it now."""
    USED = "used"
    CAMERA_OFF = "camera-off"
    DEVICE_OFFLINE = "device-offline"
    DEVICE_TIMEOUT = "device-timeout"
    """The device did not confirm the command, or gave no picture, in time. It may have executed the command."""
    DEVICE_REFUSED = "device-refused"
    SLOW_DOWN = "slow-down"
    """The request was not checked, because too many requests from this IP address were refused."""

    @property
    def is_of_device(self) -> bool:
        """Whether the request was right but the device failed."""
        return self in (Reason.DEVICE_OFFLINE, Reason.DEVICE_TIMEOUT, Reason.DEVICE_REFUSED)


_OF_FAULT: dict[type[Fault], Reason] = {
    DeviceOffline: Reason.DEVICE_OFFLINE,
    DeviceTimeout: Reason.DEVICE_TIMEOUT,
    DeviceRefused: Reason.DEVICE_REFUSED,
}


class NotRedeemed(Exception):
    """The ticket or picture token was refused, or the device failed (`Reason.is_of_device`).

    The message is for the developer of an SDK. `retry_after` is in seconds.
    """

    def __init__(self, reason: Reason, message: str, *, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.retry_after = retry_after


def from_device(fault: DeviceOffline | DeviceTimeout | DeviceRefused) -> NotRedeemed:
    reason = next(reason for kind, reason in _OF_FAULT.items() if isinstance(fault, kind))
    return NotRedeemed(reason, fault.message)
