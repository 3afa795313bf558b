"""Sessions and turns: idempotency, time-outs, cancellation; transport-free (002 §4.2)."""
