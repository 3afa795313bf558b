"""The loop: model, intent, calls, results, until a step calls nothing (AGT-01)."""
