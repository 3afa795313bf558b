"""Where commands run: behind one small port, refused where nothing isolates (BOX-01)."""
