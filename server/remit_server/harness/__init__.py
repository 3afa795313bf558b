"""The choke point that every call passes before it has any effect: `dispatcher.Dispatcher` (INT-01)."""
