"""The replacement for mails, for a gateway without a mail server."""

from domogate.ports import OutgoingMail


class PrintedMail:
    """Implements Mail for a gateway without a mail server. Nothing is sent, so the caller shows the link."""

    async def send(self, _mail: OutgoingMail) -> bool:
        return False
