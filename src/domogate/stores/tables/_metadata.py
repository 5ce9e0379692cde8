"""What all tables belong to, and the type of what counts upwards."""

from sqlalchemy import BigInteger, Integer, MetaData

metadata = MetaData()

# SQLite makes a key its row number only when it is spelled INTEGER.
CURSOR = BigInteger().with_variant(Integer(), "sqlite")
