"""Sessions and turns: idempotency, time-outs, cancellation; transport-free (AGT-06)."""
