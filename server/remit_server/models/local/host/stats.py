"""Statistics of the model process since it loaded its model."""

from __future__ import annotations

from dataclasses import dataclass

from remit_server.models.local.wire import Finished, Stats


@dataclass(slots=True)
class Counts:
    """Sums over all generations that ended."""

    generations: int = 0
    hits: int = 0
    shared: int = 0
    cached_tokens: int = 0
    read_tokens: int = 0
    generated_tokens: int = 0
    decode_s: float = 0.0

    def count(self, finished: Finished, *, shared: bool) -> None:
        """Adds a generation; `shared`: it began with a copy of another session's cache."""
        self.generations += 1
        self.hits += finished.cached_tokens > 0
        self.shared += shared
        self.cached_tokens += finished.cached_tokens
        self.read_tokens += finished.prompt_tokens - finished.cached_tokens
        self.generated_tokens += finished.completion_tokens
        self.decode_s += finished.decode_s

    def stats(self, *, sessions: int, cache_bytes: int, waiting: int, running: int) -> Stats:
        """Returns the sums, the caches' state and the running requests."""
        return Stats(
            sessions=sessions,
            cache_bytes=cache_bytes,
            waiting=waiting,
            running=running,
            generations=self.generations,
            hits=self.hits,
            shared=self.shared,
            cached_tokens=self.cached_tokens,
            read_tokens=self.read_tokens,
            generated_tokens=self.generated_tokens,
            tokens_per_s=self.generated_tokens / self.decode_s if self.decode_s > 0 else 0.0,
        )
