"""Why a ticket was not redeemed or a picture not given, in words that an SDK can tell apart."""

from enum import StrEnum

from domogate.domain.faults import DeviceOffline, DeviceRefused, DeviceTimeout, Fault


class Reason(StrEnum):
    """Stable: the words on the wire, in the audit log and in the metrics."""

    INVALID = "invalid"
    """Nothing that a trusted key of this gateway signed for this purpose."""
    EXPIRED = "expired"
    WITHDRAWN = "right-withdrawn"
    """It was good when it was made; the user, the grant, the client or the right to the plant is gone since."""
    PASSWORD_TO_RENEW = "password-to-renew"
    TERMS_TO_ACCEPT = "terms-to-accept"
    NO_SUCH_DEVICE = "no-such-device"
    """The plant or the module is not there any more, or is another kind of thing."""
    USED = "used"
    CAMERA_OFF = "camera-off"
    DEVICE_OFFLINE = "device-offline"
    DEVICE_TIMEOUT = "device-timeout"
    """Told, and not confirmed in time: it may have been done."""
    DEVICE_REFUSED = "device-refused"
    SLOW_DOWN = "slow-down"
    """Not even looked at: too much that was refused came from this address."""

    @property
    def is_of_device(self) -> bool:
        """Nothing was wrong with what was shown; the device did not do its part."""
        return self in (Reason.DEVICE_OFFLINE, Reason.DEVICE_TIMEOUT, Reason.DEVICE_REFUSED)


_OF_FAULT: dict[type[Fault], Reason] = {
    DeviceOffline: Reason.DEVICE_OFFLINE,
    DeviceTimeout: Reason.DEVICE_TIMEOUT,
    DeviceRefused: Reason.DEVICE_REFUSED,
}


class NotRedeemed(Exception):
    """A refusal. The message is for the developer of an SDK; `retry_after` is in seconds, where waiting helps."""

    def __init__(self, reason: Reason, message: str, *, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.retry_after = retry_after


def from_device(fault: DeviceOffline | DeviceTimeout | DeviceRefused) -> NotRedeemed:
    return NotRedeemed(_OF_FAULT[type(fault)], fault.message)
