"""A small estate: users, a client, a key, and a plant with lights."""

EMAIL = "ada@example.com"
INVITED = "ben@example.com"
CLIENT = "small-app"
PLANT = "5b0f0c52-7a54-4a0c-9c3f-0d9f6a4f1a01"
LIGHT = "5b0f0c52-7a54-4a0c-9c3f-0d9f6a4f1a02"
LAMPS = ("5b0f0c52-7a54-4a0c-9c3f-0d9f6a4f1a03", "5b0f0c52-7a54-4a0c-9c3f-0d9f6a4f1a04")

SMALL_ESTATE = f"""\
users:
  - {{email: {EMAIL}, name: Ada, password: correct horse}}
  - {{email: {INVITED}, name: Ben}}
subscriptions:
  - {{name: small key, key: small-key-0123456789}}
clients:
  - {{id: {CLIENT}, name: Small app, scopes: [topology.read, light.read]}}
plants:
  - id: {PLANT}
    name: Small house
    type: house
    owner: {EMAIL}
    driver: simulator
    modules:
      - {{id: {LIGHT}, name: Desk, kind: light}}
      - {{id: {LAMPS[0]}, name: Lamp, kind: light}}
      - {{id: {LAMPS[1]}, name: Lamp, kind: light}}
"""
