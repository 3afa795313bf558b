"""The one choke point between a call and the world: `dispatcher.Dispatcher` (002 §4.5)."""
