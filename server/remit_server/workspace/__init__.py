"""Files of the workspace: race-free paths, contents with their encoding, atomic writes."""
