"""How a line or a setting of a file is changed, by the kind of the file (MOD-23). Pure."""
