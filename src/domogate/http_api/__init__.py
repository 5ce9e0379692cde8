"""The code that our own HTTP surfaces (homes, developer, management, events, webhooks, tickets) share. It is based on
Starlette.

A surface is a `Surface` with a table of operations (operations.py) and one way to check credentials (credentials.py).
`SurfaceApp` (app.py) serves the surface. It reads queries and bodies (requests.py), prints refusals as problem details
(problems.py), and cuts lists into pages (paging.py). It also reads the limits of guests (limits.py), and describes the surface
as OpenAPI (openapi.py).
"""
