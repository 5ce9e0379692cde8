"""The surface for door stations and their SDK: tickets redeemed, and what a camera sees."""
