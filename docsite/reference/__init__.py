"""Writes the pages of the documentation that are made from the code: the command line and the operations of the APIs."""
