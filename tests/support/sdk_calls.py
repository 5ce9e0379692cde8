"""One successful call of every operation of every document, on the demo estate, in an order in which all of them work.

Texts in braces stand for values that an earlier answer gave, for example `{webhookId}`.
"""

from dataclasses import dataclass, field
from typing import Any

ANNA, BRUNO, DARIO, ELENA, FABIO = (f"{name}@example.com" for name in ("anna", "bruno", "dario", "elena", "fabio"))

HOUSE = "ca5a0001-0000-4000-8000-000000000000"
KITCHEN = "ca5a0001-000a-4000-8000-000000000001"
LAMP = "ca5a0001-0001-4000-8000-000000000001"
PLUG = "ca5a0001-0001-4000-8000-000000000003"
REMOTE = "ca5a0001-0002-4000-8000-000000000006"
LOCK = "ca5a0001-0003-4000-8000-000000000002"
CAMERA = "ca5a0001-0003-4000-8000-000000000003"
THERMOSTAT = "ca5a0001-0100-4000-8000-000000000003"
SCENE = "ca5a0001-0200-4000-8000-000000000002"
OFFICE = "0ff1ce01-0000-4000-8000-000000000000"
HOSPITAL = "405b0001-0000-4000-8000-000000000000"
EXIT_SIGN = "405b0001-0003-4000-8000-000000000001"
UNIT = "062520"

NO_BODY = object()


@dataclass(frozen=True)
class Call:
    """A request that succeeds, and what later calls need of its answer."""

    document: str
    operation: str
    path: dict[str, str] = field(default_factory=dict)
    query: dict[str, Any] = field(default_factory=dict)
    body: Any = NO_BODY
    who: str = ANNA
    status: int = 200
    keep: dict[str, str] = field(default_factory=dict)
    """Names of values, each with its place in the answer: `user.id`."""

    @property
    def name(self) -> str:
        return f"{self.document}.{self.operation}"


def bare(identity: str) -> str:
    """The id as home control writes it."""
    return identity.replace("-", "")


IN_HOUSE = {"plantId": HOUSE}
IN_HOSPITAL = {"plantId": HOSPITAL}
OF_THERMOSTAT = {"plantId": HOUSE, "moduleId": THERMOSTAT}
OF_WEBHOOK = {"webhookId": "{webhookId}"}
OF_NEW_USER = {"userId": "{userId}"}
OF_FABIO = {"userId": "{fabioId}"}

FAMILIES = (
    Call(
        "homectl",
        "switchPlugs",
        {"plantId": bare(HOUSE), "ambientId": bare(KITCHEN)},
        body={"status": "on"},
    ),
    Call("homectl", "readRemote", {"plantId": bare(HOUSE), "moduleId": bare(REMOTE)}),
    Call("homectl", "readTopology", {"plantId": bare(HOUSE)}),
    Call("homectl", "readConsumptions", {"plantId": bare(HOUSE), "moduleId": bare(PLUG)}),
    Call("homectl", "listPlants"),
    Call("homeauto", "runScene", {"plantid": HOUSE, "moduleid": SCENE}, body={"status": "run"}),
    Call("homeauto", "listPlants"),
    Call("homeauto", "readTopology", IN_HOUSE),
    Call("homeauto", "setLight", {"plantid": HOUSE, "moduleid": LAMP}, body={"status": "on", "level": 60}),
    Call("homeauto", "readLight", {"plantid": HOUSE, "moduleid": LAMP}),
    Call("doorentry-a", "readTopology", IN_HOUSE),
    Call("doorentry-b", "listPlants"),
    Call("doorentry-b", "openLock", {"plantId": HOUSE, "deviceId": LOCK}, keep={"lockTicket": "locks.0.ticket"}),
    Call("thermostat", "setChronothermostat", OF_THERMOSTAT, body={
        "function": "heating", "mode": "manual", "setPoint": {"value": 21.5, "unit": "C"},
    }),
    Call("thermostat", "readChronothermostat", OF_THERMOSTAT),
    Call("thermostat", "readMeasures", OF_THERMOSTAT),
    Call("thermostat", "listPrograms", OF_THERMOSTAT),
    Call("thermostat", "listPlants"),
    Call("thermostat", "readTopology", IN_HOUSE),
    Call("thermostat", "subscribe", IN_HOUSE, body={"EndPointUrl": "{receiver}/thermostats"}, status=201,
         keep={"subscriptionId": "subscriptionId"}),
    Call("thermostat", "listSubscriptions"),
    Call("thermostat", "unsubscribe", {**IN_HOUSE, "subscriptionId": "{subscriptionId}"}),
    Call("touchpanel", "listPlants"),
    Call("touchpanel", "switchOnCamera", {"plantId": HOUSE, "deviceId": CAMERA},
         keep={"cameraTicket": "audiovideounits.0.ticket"}),
    Call("multisocket", "listPlugs", IN_HOUSE),
    Call("emergency-lighting", "listSites", who=ELENA),
    Call("emergency-lighting", "listModules", {"siteId": HOSPITAL}, who=ELENA),
    Call("emergency-lighting", "listSpareParts", {"reference": UNIT}, who=ELENA),
    Call("echo", "createResource", body={"vehicleType": "train", "maxSpeed": 125.5, "avgSpeed": 90, "speedUnit": "mph"}),
)  # fmt: skip

OWN_SURFACES = (
    Call("events", "listen", query={"plant": [HOUSE], "kind": ["state"], "present": True}),
    Call("webhooks", "registerWebhook", status=201, keep={"webhookId": "id"},
         body={"plantId": HOUSE, "url": "{receiver}/events", "kinds": ["state"]}),
    Call("webhooks", "listWebhooks"),
    Call("webhooks", "getWebhook", OF_WEBHOOK),
    Call("webhooks", "renewWebhookSecret", OF_WEBHOOK),
    Call("webhooks", "testWebhook", OF_WEBHOOK),
    Call("webhooks", "listDeadLetters", OF_WEBHOOK, {"limit": 10}),
    Call("webhooks", "replayDeadLetters", OF_WEBHOOK, body={}),
    Call("management", "listWebhooks", query={"plantId": HOUSE}),
    Call("management", "getWebhook", OF_WEBHOOK),
    Call("management", "testWebhook", OF_WEBHOOK),
    Call("management", "listDeliveries", OF_WEBHOOK),
    Call("management", "listDeadLetters", OF_WEBHOOK, {"limit": 10, "names": True}),
    Call("management", "replayDeadLetters", OF_WEBHOOK, body={}),
    Call("webhooks", "removeWebhook", OF_WEBHOOK, status=204),
    Call("webhooks", "registerWebhook", status=201, keep={"webhookId": "id"},
         body={"plantId": HOUSE, "url": "{receiver}/events", "kinds": ["state"]}),
    Call("management", "removeWebhook", OF_WEBHOOK, status=204),
    Call("tickets", "redeem", body={"ticket": "{cameraTicket}"}, keep={"pictureToken": "picture.token"}),
    Call("tickets", "picture"),
)  # fmt: skip

OF_HOME = {"homeId": HOUSE}

HOME = (
    Call("home", "getMe"),
    Call("home", "listHomes", query={"limit": 2}),
    Call("home", "getHome", OF_HOME),
    Call("home", "getModule", {**OF_HOME, "moduleId": LAMP}),
    Call("home", "commandModule", {**OF_HOME, "moduleId": LAMP}, body={"do": "set light", "on": True, "level": 40}),
    Call("home", "runScene", {**OF_HOME, "moduleId": SCENE}, status=204),
    Call("home", "commandModule", {**OF_HOME, "moduleId": CAMERA}, body={"do": "switch camera", "on": True}),
    Call("home", "getPicture", {**OF_HOME, "moduleId": CAMERA}),
    Call("home", "setFavourites", OF_HOME, body={"modules": [LAMP, SCENE]}),
    Call("home", "getFavourites", OF_HOME),
    Call("home", "listRecentEvents", OF_HOME, {"limit": 2}),
    Call("home", "listModuleReadings", {**OF_HOME, "moduleId": THERMOSTAT}, {"per": "day", "timezone": "Europe/Rome"}),
    Call("home", "getEnergy", OF_HOME, {"since": "2026-11-14", "until": "2026-11-15"}),
    Call("home", "getSafety", {"homeId": HOSPITAL}, who=ELENA),
    Call("home", "getPeople", OF_HOME),
    Call("home", "invite", OF_HOME, status=201, body={
        "email": "paola@example.com", "limits": {"ambients": [KITCHEN], "validUntil": "2099-12-31T12:00:00Z"},
    }),
    Call("home", "changePerson", {**OF_HOME, "email": "paola@example.com"}, body={"limits": {"modules": [LAMP]}}),
    Call("home", "withdrawPerson", {**OF_HOME, "email": "paola@example.com"}, status=204),
    Call("home", "makeInvitationLink", OF_HOME, status=201, keep={"linkId": "link.id"},
         body={"note": "Emil", "limits": {"ambients": [KITCHEN]}}),
    Call("home", "listInvitationLinks", OF_HOME),
    Call("management", "listInvitationLinks", IN_HOUSE),
    Call("home", "withdrawInvitationLink", {**OF_HOME, "linkId": "{linkId}"}, status=204),
    Call("home", "makeInvitationLink", OF_HOME, status=201, keep={"linkId": "link.id"}, body={"note": "Nora"}),
    Call("management", "withdrawInvitationLink", {**IN_HOUSE, "linkId": "{linkId}"}, status=204),
    Call("webhooks", "registerWebhook", status=201, keep={"webhookId": "id"},
         body={"plantId": HOUSE, "url": "{receiver}/events", "kinds": ["state"]}),
    Call("home", "listApplications"),
    Call("home", "endWebhook", OF_WEBHOOK, status=204),
    Call("home", "revokeApplication", {"clientId": "old-app"}, status=204),
    Call("home", "leaveHome", OF_HOME, status=204, who=BRUNO),
)  # fmt: skip

OF_APPLICATION = {"clientId": "{applicationId}"}

DEVELOPER = (
    Call("developer", "getSelfService"),
    Call("developer", "createApplication", status=201, keep={"applicationId": "application.id"}, body={
        "name": "Evening lights", "confidential": True, "redirectUris": ["https://lights.example/callback"],
        "scopes": ["openid", "light.read", "light.write"],
    }),
    Call("developer", "listApplications"),
    Call("developer", "changeApplication", OF_APPLICATION, body={"name": "Lights in the evening"}),
    Call("developer", "rotateApplicationSecret", OF_APPLICATION, status=201),
    Call("developer", "deleteApplication", OF_APPLICATION, status=204),
    Call("developer", "createKey", body={"name": "My laptop"}, status=201, keep={"keyId": "subscription.id"}),
    Call("developer", "listKeys"),
    Call("developer", "revokeKey", {"keyId": "{keyId}"}, status=204),
    Call("developer", "createReceiver", status=201, keep={"receiverId": "id", "receiverUrl": "url"}),
    Call("webhooks", "registerWebhook", status=201, keep={"webhookId": "id"},
         body={"plantId": HOUSE, "url": "{receiverUrl}", "kinds": ["state"]}),
    Call("webhooks", "testWebhook", OF_WEBHOOK),
    Call("developer", "getReceiver", {"receiverId": "{receiverId}"}),
    Call("developer", "closeReceiver", {"receiverId": "{receiverId}"}, status=204),
    Call("developer", "injectFault", {**OF_HOME, "moduleId": LAMP}, body={"fault": "offline", "seconds": 30}, status=201),
    Call("developer", "clearFaults", {**OF_HOME, "moduleId": LAMP}, status=204),
    Call("webhooks", "removeWebhook", OF_WEBHOOK, status=204),
)  # fmt: skip

IN_VILLA = {"plantId": "{newPlantId}"}
ESTATE = """\
users:
  - {email: sofia@example.com, name: Sofia Ricci}
plants:
  - {id: 0dfe0001-0000-4000-8000-000000000000, name: Casa Ricci, type: house, owner: sofia@example.com}
"""

MANAGEMENT = (
    Call("management", "getOverview"),
    Call("management", "listen", query={"plantId": HOUSE, "kind": ["state"]}),
    Call("management", "listUsers", query={"limit": 2}),
    Call("management", "createUser", body={"email": "sofia@example.com", "name": "Sofia Ricci", "operator": True}, status=201,
         keep={"userId": "user.id"}),
    Call("management", "getUser", OF_NEW_USER),
    Call("management", "changeUser", OF_NEW_USER, body={"name": "Sofia Rizzo", "standing": "terms expired"}),
    Call("management", "issuePasswordLink", OF_NEW_USER, body={"showLink": True}, status=201),
    Call("management", "deleteUser", OF_NEW_USER, status=204),
    Call("management", "listUsers", query={"email": FABIO}, keep={"fabioId": "items.0.id"}),
    Call("management", "listPasskeys", OF_FABIO, keep={"passkeyId": "items.0.id"}),
    Call("management", "removePasskey", {**OF_FABIO, "passkeyId": "{passkeyId}"}, status=204),
    Call("management", "resetSecondFactor", OF_FABIO, status=204),
    Call("management", "listExternalAccounts", OF_FABIO),
    Call("management", "unbindExternalAccounts", OF_FABIO, status=204),
    Call("management", "listSessions", OF_FABIO),
    Call("management", "endSessions", OF_FABIO, status=204),
    Call("management", "listGrants", OF_FABIO, keep={"grantId": "items.0.id"}),
    Call("management", "revokeGrant", {**OF_FABIO, "grantId": "{grantId}"}, status=204),
    Call("management", "revokeGrants", OF_FABIO, status=204),
    Call("management", "listUsers", query={"email": ANNA}, keep={"annaId": "items.0.id"}),
    Call("management", "listPlantsOfUser", {"userId": "{annaId}"}),
    Call("management", "createClient", status=201, body={
        "id": "lobby-display", "name": "Lobby display", "confidential": True, "redirectUris": ["https://lobby.example/callback"],
        "scopes": ["openid", "topology.read", "light.read"],
    }),
    Call("management", "listClients", query={"limit": 2}),
    Call("management", "listGrantsOfClient", {"clientId": "demo-app"}, {"limit": 2}),
    Call("management", "getClient", {"clientId": "lobby-display"}),
    Call("management", "changeClient", {"clientId": "lobby-display"}, body={"name": "Display in the lobby"}),
    Call("management", "rotateClientSecret", {"clientId": "lobby-display"}, status=201),
    Call("management", "deleteClient", {"clientId": "lobby-display"}, status=204),
    Call("management", "listPlants", query={"limit": 2}),
    Call("management", "getPlant", IN_HOUSE),
    Call("management", "changePlant", {"plantId": OFFICE}, body={"status": "active"}),
    Call("management", "invite", IN_HOUSE, status=201, body={"email": "sofia@example.com", "limits": {"modules": [LAMP]}}),
    Call("management", "changeInvitation", {**IN_HOUSE, "email": "sofia@example.com"}, body={
        "limits": {"ambients": [KITCHEN]},
    }),
    Call("management", "withdrawInvitation", {**IN_HOUSE, "email": "sofia@example.com"}, status=204),
    Call("management", "allowUser", {**IN_HOUSE, **OF_FABIO}, status=204),
    Call("management", "changeMember", {**IN_HOUSE, **OF_FABIO}, body={
        "limits": {"ambients": [KITCHEN], "validUntil": "2099-12-31T12:00:00Z"},
    }),
    Call("management", "withdrawUser", {**IN_HOUSE, **OF_FABIO}, status=204),
    Call("management", "createPlant", status=201, keep={"newPlantId": "id"}, body={
        "name": "Villa Ricci", "type": "house", "owner": ANNA, "country": "Italia",
    }),
    Call("management", "createFloor", IN_VILLA, body={"name": "Ground floor"}, status=201, keep={"floorId": "id"}),
    Call("management", "changeFloor", {**IN_VILLA, "floorId": "{floorId}"}, body={"name": "First floor"}),
    Call("management", "createAmbient", IN_VILLA, status=201, keep={"ambientId": "id"},
         body={"name": "Kitchen", "type": "kitchen", "floorId": "{floorId}"}),
    Call("management", "changeAmbient", {**IN_VILLA, "ambientId": "{ambientId}"}, body={"name": "Pantry", "floorId": None}),
    Call("management", "getContent", IN_VILLA),
    Call("management", "createModule", IN_VILLA, status=201, keep={"newModuleId": "id"}, body={
        "name": "Lamp", "kind": "light", "driver": "simulator", "options": {"transition": 2}, "ambientId": "{ambientId}",
    }),
    Call("management", "changeModule", {**IN_VILLA, "moduleId": "{newModuleId}"}, body={"name": "Ceiling lamp", "options": {}}),
    Call("management", "discover", body={"driver": "simulator", "seconds": 1}),
    Call("management", "createPlacement", IN_VILLA, body={"pattern": "{room}_*", "modules": [
        {"name": "pantry_lamp", "kind": "light", "driver": "simulator"},
        {"name": "garage_lamp", "kind": "light", "driver": "simulator"},
    ]}),
    Call("management", "listAllModules", query={"text": "lamp pantry", "limit": 2}, keep={"foundId": "items.0.id"}),
    Call("management", "deleteModules", IN_VILLA, body={"ids": ["{foundId}"]}, status=204),
    Call("management", "createModule", IN_VILLA, status=201, keep={"newModuleId": "id"}, body={
        "name": "Spot", "kind": "light", "driver": "simulator",
    }),
    Call("management", "deleteModule", {**IN_VILLA, "moduleId": "{newModuleId}"}, status=204),
    Call("management", "createAmbient", IN_VILLA, body={"name": "Cellar"}, status=201, keep={"ambientId": "id"}),
    Call("management", "deleteAmbient", {**IN_VILLA, "ambientId": "{ambientId}"}, status=204),
    Call("management", "deleteFloor", {**IN_VILLA, "floorId": "{floorId}"}, status=204),
    Call("management", "getEstateSchema"),
    Call("management", "checkEstate", body={"document": ESTATE.replace("house", "castle")}),
    Call("management", "compareEstate", body={"document": ESTATE}),
    Call("management", "importEstate", body={"document": ESTATE}),
    Call("management", "listEstateImports", query={"limit": 1}, keep={"importNumber": "items.0.number"}),
    Call("management", "getEstateImport", {"number": "{importNumber}"}),
    Call("management", "exportEstate"),
    Call("management", "getDriver", {"driver": "simulator"}),
    Call("management", "getOptionsSchema", {"driver": "simulator"}, {"kind": "light"}),
    Call("management", "setConnection", {"driver": "mqtt"}, body={"url": "{broker}"}),
    Call("management", "deleteConnection", {"driver": "mqtt"}, status=204),
    Call("management", "listModules", IN_HOUSE, {"kind": "light", "limit": 2}),
    Call("management", "getModule", {**IN_HOUSE, "moduleId": LAMP}),
    Call("management", "commandModule", {**IN_HOUSE, "moduleId": LAMP}, body={"do": "set light", "on": True, "level": 40},
         keep={"orderId": "id"}),
    Call("management", "runScene", {**IN_HOUSE, "moduleId": SCENE}, status=204),
    Call("management", "listReadings", OF_THERMOSTAT, {"measure": "temperature", "limit": 2}),
    Call("management", "listOrders", query={"moduleId": LAMP, "limit": 2, "names": True}),
    Call("management", "getOrder", {"orderId": "{orderId}"}),
    Call("management", "getSafety", IN_HOSPITAL),
    Call("management", "getSafetyReport", IN_HOSPITAL, {"timezone": "Europe/Rome", "responsible": "Elena Ferri"}),
    Call("management", "getSparePartsOrder", IN_HOSPITAL),
    Call("management", "writeLogbook", IN_HOSPITAL, status=201, body={
        "kind": "note", "by": "Elena Ferri", "words": "The exit sign was cleaned.", "moduleId": EXIT_SIGN,
    }),
    Call("management", "listLogbook", IN_HOSPITAL, {"limit": 2}),
    Call("management", "injectFault", IN_HOUSE, body={"fault": "offline", "moduleId": LAMP, "seconds": 60}, status=201),
    Call("management", "listFaults", query={"limit": 2, "names": True}),
    Call("management", "listFaultsOfPlant", IN_HOUSE, {"limit": 2, "names": True}),
    Call("management", "clearFaultsOfPlant", IN_HOUSE, {"moduleId": LAMP}),
    Call("management", "clearFaults", query={"fault": "offline"}),
    Call("management", "listDrivers"),
    Call("management", "createSubscription", status=201, keep={"keyId": "subscription.id"},
         body={"name": "Lobby display", "rate": "10/second", "dailyQuota": 5000}),
    Call("management", "listSubscriptions", query={"limit": 2}),
    Call("management", "revokeSubscription", {"subscriptionId": "{keyId}"}, status=204),
    Call("management", "listSigningKeys"),
    Call("management", "rotateSigningKeys", body={"emergency": False}, status=201),
    Call("management", "listAudit", query={"limit": 2, "order": "newest", "people": True}),
    Call("management", "verifyAudit", body={}),
    Call("management", "exportAudit"),
    Call("management", "createBackup"),
    Call("management", "getCluster"),
    Call("management", "getClock"),
    Call("management", "confirmClock"),
    Call("management", "getSecretKey"),
    Call("management", "listSettings"),
    Call("management", "listLogs", query={"level": "info"}),
)  # fmt: skip

CALLS = (*FAMILIES, *OWN_SURFACES, *HOME, *DEVELOPER, *MANAGEMENT)
