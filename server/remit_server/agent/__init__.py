"""The loop: model, intent, calls, results, until a step calls nothing (001 §5, 004)."""
