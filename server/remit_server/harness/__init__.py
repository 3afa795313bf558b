"""The one choke point between a call and the world: `dispatcher.Dispatcher` (INT-01)."""
