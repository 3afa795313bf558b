"""The price of a step by the service's list prices, from data that come with a library (MOD-18)."""

from __future__ import annotations

from remit_server.models.remote.ask import Ended
from remit_server.models.remote.engines import PROVIDERS, RemoteReference


def price_of(ended: Ended, reference: RemoteReference, model: str) -> float | None:
    """Returns the price in US dollars: None if no price of the model is known there, 0 for a server on this machine.

    Imports the library, which takes a second. The request itself, not only its end, has to be over.
    """
    if reference.is_local:
        return 0.0
    try:
        from genai_prices import Usage, calc_price
    except ImportError:
        return None
    usage = Usage(
        input_tokens=ended.prompt_tokens,
        cache_read_tokens=ended.cached_tokens,
        cache_write_tokens=ended.written_tokens,
        output_tokens=ended.completion_tokens,
    )
    where = reference.endpoint or PROVIDERS[reference.provider].endpoint
    try:
        return float(calc_price(usage, model, provider_api_url=where).total_price)
    except (LookupError, ValueError):  # an unknown service or model, or impossible counts
        return None
