"""The pages for people at `/`: the files that are built from `web/`, and the HTML page (the shell) that loads them. Also the
documentation at `/docs`, which is built from `docs/`.
"""
