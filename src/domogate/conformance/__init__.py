"""Checks any implementation of the nine families against the contract, over HTTP.

The rules are written by hand from the specification. This package imports nothing of the gateway, so it can judge the gateway
as it judges other implementations.
"""
