"""Whether an edit changes types alone: syntax trees compared without what no run of the code can see (FLW-09)."""
