"""Makes mails to users."""

from domogate.domain.people import User
from domogate.ports import MailKind, OutgoingMail


def mail_to(
    user: User, kind: MailKind, *, plant: str = "", by: str = "", link: str = "", lifetime: float = 0.0
) -> OutgoingMail:
    """Return a mail to the user, in the user's language."""
    return OutgoingMail(
        kind=kind,
        email=user.email,
        language=user.mail_language,
        name=user.name,
        plant=plant,
        by=by,
        link=link,
        lifetime=lifetime,
    )
