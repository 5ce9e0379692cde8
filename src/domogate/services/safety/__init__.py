"""Emergency lighting for the responsible person: test schedule, spare parts to order, and logbook (EN 50172)."""

from domogate.services.safety.logbook import SafetyLogbook, SafetyReport
from domogate.services.safety.order_list import Need, OrderLine, OrderList
from domogate.services.safety.schedule import PlannedTest, TestStanding, add_months
from domogate.services.safety.site import SafetyController, SafetySite, SafetySummary, SafetyUnit, StatusCounts, TestCounts

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
    "StatusCounts",
    "TestCounts",
    "TestStanding",
    "add_months",
]
