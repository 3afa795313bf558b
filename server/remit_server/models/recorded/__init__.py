"""Models that follow a script or a recording, and the recorder."""
