"""People: accounts, logins and sessions, members of plants, registered client applications.

`People` changes accounts, members and clients. `Sessions` logs people in and out. Their exceptions are those of
`services/refusals.py`, and `TooOften`.

The names of this package are imported at their first use, so a `domogate` command loads only what it uses (Decision 0098).
"""

from typing import TYPE_CHECKING

from domogate.common.late_imports import late_names

if TYPE_CHECKING:
    from domogate.services.people.actors import COMMAND_LINE, Actor
    from domogate.services.people.clients import Clients
    from domogate.services.people.first_operator import FIRST_OPERATOR_PATH
    from domogate.services.people.invitation_links import INVITATION_LINK_PATH, OpenedInvitation
    from domogate.services.people.links import EMAIL_LINK_PATH, LINK_PATH, DeadLink, IssuedLink
    from domogate.services.people.login_throttle import LoginThrottle
    from domogate.services.people.logins import (
        LoggedIn,
        LoginComplete,
        LoginExpired,
        LoginFailed,
        LoginThrottled,
        PendingLogin,
        SecondFactorNeeded,
        form_token_of,
    )
    from domogate.services.people.owners import TooOften
    from domogate.services.people.passkeys import Passkeys
    from domogate.services.people.people import Invited, InvitedAs, People
    from domogate.services.people.rules import check_email, check_language, check_login_name, check_name, check_password
    from domogate.services.people.second_factor import SecondFactor, is_secret
    from domogate.services.people.sessions import Sessions

__all__ = [
    "COMMAND_LINE",
    "EMAIL_LINK_PATH",
    "FIRST_OPERATOR_PATH",
    "INVITATION_LINK_PATH",
    "LINK_PATH",
    "Actor",
    "Clients",
    "DeadLink",
    "Invited",
    "InvitedAs",
    "IssuedLink",
    "LoggedIn",
    "LoginComplete",
    "LoginExpired",
    "LoginFailed",
    "LoginThrottle",
    "LoginThrottled",
    "OpenedInvitation",
    "Passkeys",
    "PendingLogin",
    "People",
    "SecondFactor",
    "SecondFactorNeeded",
    "Sessions",
    "TooOften",
    "check_email",
    "check_language",
    "check_login_name",
    "check_name",
    "check_password",
    "form_token_of",
    "is_secret",
]

__getattr__ = late_names(
    __name__,
    {
        "actors": ("COMMAND_LINE", "Actor"),
        "clients": ("Clients",),
        "first_operator": ("FIRST_OPERATOR_PATH",),
        "invitation_links": ("INVITATION_LINK_PATH", "OpenedInvitation"),
        "links": ("EMAIL_LINK_PATH", "LINK_PATH", "DeadLink", "IssuedLink"),
        "login_throttle": ("LoginThrottle",),
        "logins": (
            "LoggedIn",
            "LoginComplete",
            "LoginExpired",
            "LoginFailed",
            "LoginThrottled",
            "PendingLogin",
            "SecondFactorNeeded",
            "form_token_of",
        ),
        "owners": ("TooOften",),
        "passkeys": ("Passkeys",),
        "people": ("Invited", "InvitedAs", "People"),
        "rules": ("check_email", "check_language", "check_login_name", "check_name", "check_password"),
        "second_factor": ("SecondFactor", "is_secret"),
        "sessions": ("Sessions",),
    },
)
