"""The long campaigns of `./dev soak`. They repeat the checks of the tests for a given time. Everything runs on loopback."""
