"""`domogate record` and `domogate replay`: keeps redacted answers of any gateway that serves the families, and serves these
answers again.

This folder imports nothing of the gateway, so it also works with another implementation of the contract.
"""
