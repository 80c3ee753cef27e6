"""Values that everything shares: standard library only, no effects."""
