"""Finds the text that explains why a new password is refused. The rules are in `services/people/rules.py`."""

from domogate.domain.passwords import PASSWORD_LENGTH, is_common, normalise_password
from domogate.services.people import check_password
from domogate.services.refusals import Invalid


def find_flaw(password: str, repeated: str, email: str, current: str | None = None) -> tuple[str, str] | None:
    """Return the wrong field and the key of the text that explains the problem. Return None if the password is accepted."""
    shortest, longest = PASSWORD_LENGTH
    try:
        check_password(password, email)
    except Invalid:
        folded = password.casefold().strip()
        normal = normalise_password(password)
        if normal is not None and len(normal) < shortest:
            return "password", "password.short"
        if normal is None or len(normal) > longest:
            return "password", "password.long"
        if folded in (email.casefold(), email.casefold().partition("@")[0]):
            return "password", "password.email"
        return "password", "password.common" if is_common(folded) else "password.refused"
    if current is not None and password == current:
        return "password", "password.same"
    if password != repeated:
        return "repeated", "password.differs"
    return None
