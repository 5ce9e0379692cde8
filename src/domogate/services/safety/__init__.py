"""Emergency lighting for the person responsible: what is to be tested when, what to order, and the logbook (EN 50172)."""

from domogate.services.safety.logbook import SafetyLogbook, SafetyReport
from domogate.services.safety.order_list import Need, OrderLine, OrderList
from domogate.services.safety.schedule import PlannedTest, TestStanding, add_months
from domogate.services.safety.site import SafetyController, SafetySite, SafetySummary, SafetyUnit, StatusTally, TestTally

__all__ = [
    "Need",
    "OrderLine",
    "OrderList",
    "PlannedTest",
    "SafetyController",
    "SafetyLogbook",
    "SafetyReport",
    "SafetySite",
    "SafetySummary",
    "SafetyUnit",
    "StatusTally",
    "TestStanding",
    "TestTally",
    "add_months",
]
