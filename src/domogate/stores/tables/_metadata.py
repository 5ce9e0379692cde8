"""The collection of all tables."""

from sqlalchemy import MetaData

metadata = MetaData()
