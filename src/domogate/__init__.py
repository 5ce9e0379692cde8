"""Domogate: a self-hosted gateway for connected homes and buildings."""

__version__ = "0.1.0"
