"""The pages for people at `/`: the files that `web/` is built into, and the shell that loads them."""
