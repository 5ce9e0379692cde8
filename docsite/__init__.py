"""Builds the documentation site from `docs/` (Decision 0134). Only the development environment has the packages for it."""
