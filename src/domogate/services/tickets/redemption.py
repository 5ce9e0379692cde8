"""Redeems tickets: opens a lock once, or switches on a camera and then returns its pictures."""

from collections.abc import Mapping

import msgspec

from domogate.domain.faults import DeviceOffline, DeviceRefused, DeviceTimeout, OrderKeyTaken
from domogate.domain.ids import new_id
from domogate.domain.states import CameraState, Report
from domogate.ports import Audit, Clock, Picture, Signer, TicketStore
from domogate.services.audit import AuditAction
from domogate.services.plants.control import Control
from domogate.services.plants.read_model import ModuleView, ReadModel
from domogate.services.rights.identity_cache import IdentityCache
from domogate.services.tickets.audit_notes import TicketAudit
from domogate.services.tickets.issuing import TICKET_TYP, ticket_audience
from domogate.services.tickets.permits import Permit, PicturePermission, TicketAction, read_permit, sign_permit
from domogate.services.tickets.refusal_limiter import RefusalLimiter
from domogate.services.tickets.refusals import NotRedeemed, Reason, from_device
from domogate.services.tickets.rights import COMMAND_OF, TicketRights

PICTURE_TYP = "picture+jwt"
_PICTURE_LIFETIME = 60
"""The seconds for which pictures may be taken after a ticket was redeemed."""
_DONE = "done"
_DEVICE_FAULTS = (DeviceOffline, DeviceTimeout, DeviceRefused)


class Redeemed(msgspec.Struct, frozen=True):
    """The result of a used ticket. `report` has the state that the device confirmed."""

    permit: Permit
    report: Report
    picture: PicturePermission | None = None
    """The permission to get pictures; only for a camera."""


class Redemption:
    """Redeems tickets: checks the signature, the rights, and that the ticket was not used before; then commands the device."""

    def __init__(
        self,
        store: TicketStore,
        signer: Signer,
        identities: IdentityCache,
        read_model: ReadModel,
        control: Control,
        clock: Clock,
        audit: Audit,
        issuer: str,
        *,
        in_cluster: bool = False,
    ) -> None:
        """`in_cluster`: whether this gateway is a member of a cluster.

        A ticket must be used only once. Outside a cluster, the stored order of a ticket shows that the ticket was used. In a
        cluster, the gateway that drives the plant may get the message with the same order twice, so a stored order does not
        prove that the ticket was used before. Therefore, in a cluster the store has a row for each used ticket.
        """
        self._store = store
        self._signer = signer
        self._control = control
        self._clock = clock
        self._issuer = issuer
        self._in_cluster = in_cluster
        self._rights = TicketRights(identities, read_model, clock)
        self._audit = TicketAudit(audit)
        self._limiter = RefusalLimiter(clock)
        self._outcomes: dict[tuple[str, ...], int] = {}

    @property
    def outcomes(self) -> Mapping[tuple[str, ...], int]:
        """The number of requests for each operation (`redeem`, `picture`) and outcome (`done` or a Reason), for the metrics."""
        return self._outcomes

    # tickets

    def admit(self, address: str) -> None:
        """Call this before the body with the ticket is read. Raises NotRedeemed if this IP address had too many refusals."""
        try:
            self._limiter.check(address)
        except NotRedeemed as refused:
            self._refuse("redeem", AuditAction.TICKET_REDEEMED, None, refused, address)
            raise

    async def redeem(self, ticket: str, address: str) -> Redeemed:
        """Use the ticket and command the device.

        Raises NotRedeemed if the ticket is refused or the device fails. Raises Internal after an error of the gateway itself.
        """
        permit: Permit | None = None
        try:
            self._limiter.check(address)
            permit = await self._read(ticket, TICKET_TYP, ticket_audience(self._issuer))
            redeemed = await self._execute(permit)
        except NotRedeemed as refused:
            self._refuse("redeem", AuditAction.TICKET_REDEEMED, permit, refused, address)
            raise
        except Exception:
            # It is not known whether the command was executed. The attempt is recorded in the audit log.
            self._audit.note_refused(AuditAction.TICKET_REDEEMED, permit, None, address)
            raise
        self._audit.note_done(AuditAction.TICKET_REDEEMED, permit, address)
        self._count("redeem", _DONE)
        return redeemed

    async def _execute(self, permit: Permit) -> Redeemed:
        permit.check_time(self._clock.now())
        view = await self._rights.get_module(permit)
        if self._in_cluster and not await self._store.use_ticket(permit.id, permit.expires_at):
            raise _used()
        try:
            # The id of the order contains the ticket's id. So operators can find the result, and a stored order shows that the
            # ticket was used. In a cluster, an order may arrive twice, so the use of the ticket has its own row.
            report = await self._control.execute(
                permit.plant_id,
                permit.module_id,
                COMMAND_OF[permit.action],
                key=f"ticket-{permit.id}",
                by=permit.user_id,
                once=not self._in_cluster,
            )
        except OrderKeyTaken:
            raise _used() from None
        except _DEVICE_FAULTS as fault:
            raise from_device(fault) from fault
        picture = await self._permit_pictures(permit) if permit.action is TicketAction.VIDEO_OUT else None
        return Redeemed(permit, msgspec.structs.replace(report, state=report.state or view.state), picture)

    async def _permit_pictures(self, permit: Permit) -> PicturePermission:
        issued_at = int(self._clock.now())
        expires_at = issued_at + _PICTURE_LIFETIME
        picture = msgspec.structs.replace(permit, id=new_id(), issued_at=issued_at, expires_at=expires_at)
        token = await sign_permit(self._signer, picture, typ=PICTURE_TYP, issuer=self._issuer, audience=self._picture_audience)
        return PicturePermission(token, float(expires_at))

    # pictures

    async def take_picture(self, token: str, address: str) -> Picture:
        """Take a picture now. `token` is the picture token that `redeem` returned for this camera.

        Raises NotRedeemed if the token is refused or the camera fails. Raises Internal after an error of the gateway itself.
        """
        permit: Permit | None = None
        try:
            self._limiter.check(address)
            permit = await self._read(token, PICTURE_TYP, self._picture_audience)
            permit.check_time(self._clock.now())
            picture = await self._take_picture(await self._rights.get_module(permit))
        except NotRedeemed as refused:
            self._refuse("picture", AuditAction.PICTURE_TAKEN, permit, refused, address)
            raise
        self._audit.note_picture(permit, address)
        self._count("picture", _DONE)
        return picture

    async def _take_picture(self, view: ModuleView) -> Picture:
        try:
            return await self._control.take_picture(view)
        except DeviceRefused as fault:
            if await self._is_off(view):
                raise NotRedeemed(Reason.CAMERA_OFF, "the camera is off again: get a new ticket") from fault
            raise from_device(fault) from fault
        except _DEVICE_FAULTS as fault:
            raise from_device(fault) from fault

    async def _is_off(self, view: ModuleView) -> bool:
        """Ask the camera whether it is off, after it refused a picture. Return False if the camera does not answer."""
        try:
            await self._control.refresh(view)
        except _DEVICE_FAULTS:
            return False
        return isinstance(view.state, CameraState) and not view.state.on

    # tickets and pictures

    @property
    def _picture_audience(self) -> str:
        return f"{self._issuer}/pictures"

    async def _read(self, signed: str, typ: str, audience: str) -> Permit:
        return await read_permit(self._signer, signed, typ=typ, issuer=self._issuer, audience=audience)

    def _refuse(self, what: str, action: AuditAction, permit: Permit | None, refused: NotRedeemed, address: str) -> None:
        self._count(what, refused.reason)
        if refused.reason is not Reason.SLOW_DOWN and not refused.reason.is_of_device:
            self._limiter.count(address)
        self._audit.note_refused(action, permit, refused.reason, address)

    def _count(self, what: str, outcome: str) -> None:
        self._outcomes[what, outcome] = self._outcomes.get((what, outcome), 0) + 1


def _used() -> NotRedeemed:
    return NotRedeemed(Reason.USED, "the ticket was used before: get a new ticket")
