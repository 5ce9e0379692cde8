"""HTTP services that stand behind a family."""
