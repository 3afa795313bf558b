"""The stages of a call, one file each, in the order in which `dispatcher.Dispatcher` runs them."""
