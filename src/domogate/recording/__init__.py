"""`domogate record` and `domogate replay`: keeps redacted answers of any gateway of the families, and serves them again.

This folder imports nothing of the gateway, so it also works with another implementation of the contract.
"""
