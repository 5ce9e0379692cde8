"""The gateways that these tests use: one, or a cluster if DOMOGATE_TEST_GATEWAYS is set (see docs/testing.md)."""

from support.cluster_gateway import demo, workshop
from support.gateway import web

__all__ = ["demo", "web", "workshop"]
