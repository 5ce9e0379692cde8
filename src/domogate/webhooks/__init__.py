"""Surface: the webhooks that applications register (/webhooks)."""
