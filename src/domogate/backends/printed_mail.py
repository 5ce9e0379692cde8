"""For a gateway without a mail server: no mail is sent, and the caller can show the link that the mail would contain."""

from domogate.ports import OutgoingMail


class PrintedMail:
    """Implements Mail for a gateway without a mail server: `send` sends nothing and returns False.

    The caller can then show the link that the mail would contain.
    """

    async def send(self, _mail: OutgoingMail) -> bool:
        return False
