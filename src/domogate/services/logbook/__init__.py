"""Emergency lighting for the person responsible: what is to be tested when, what to order, and the logbook (EN 50172)."""

from domogate.services.logbook.desk import SafetyDesk, SafetyReport
from domogate.services.logbook.order_list import Need, OrderLine, OrderList
from domogate.services.logbook.schedule import PlannedTest, TestStanding, add_months
from domogate.services.logbook.site import SafetyController, SafetySite, SafetySummary, SafetyUnit, StatusTally, TestTally

__all__ = [
    "Need",
    "OrderLine",
    "OrderList",
    "PlannedTest",
    "SafetyController",
    "SafetyDesk",
    "SafetyReport",
    "SafetySite",
    "SafetySummary",
    "SafetyUnit",
    "StatusTally",
    "TestStanding",
    "TestTally",
    "add_months",
]
