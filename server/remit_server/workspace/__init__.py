"""Files of the workspace: paths without races, texts kept as they were, writes that are whole or not at all."""
