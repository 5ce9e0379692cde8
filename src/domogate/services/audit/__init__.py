"""The audit log: writing it, reading it, verifying its chain."""
