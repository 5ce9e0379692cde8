"""Traces with OpenTelemetry. Only a gateway with the setting `trace_endpoint` imports this folder (Decision 0129)."""

from domogate.tracing.traces import Traces

__all__ = ["Traces"]
