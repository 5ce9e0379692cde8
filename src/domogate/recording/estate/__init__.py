"""`domogate replay --estate`: makes an estate file from the answers of a recording (Decision 0121)."""
