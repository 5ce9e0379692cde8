"""Surface: the operator's HTTP API under /manage/v1."""
