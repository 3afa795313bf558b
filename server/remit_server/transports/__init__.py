"""The transports into the runtime, one package each, and the gateway to the model alone."""
