"""The code that our own HTTP surfaces (homes, developer, management, events, webhooks, tickets) share. It is based on
Starlette.

A surface is a `Surface` with a table of operations (operations.py) and one way to check credentials (credentials.py).
`SurfaceApp` (app.py) serves the surface: it reads queries and bodies (requests.py), prints refusals as problem details
(problems.py), cuts lists into pages (paging.py), reads the limits of guests (limits.py) and describes the surface as OpenAPI
(openapi.py).
"""
