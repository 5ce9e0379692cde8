"""The long campaigns of `./dev soak`: what the tests do briefly, done for as long as one likes. All on loopback."""
