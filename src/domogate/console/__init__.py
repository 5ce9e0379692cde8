"""The pages for people at `/`: the files that are built from `web/`, and the HTML page (the shell) that loads them."""
