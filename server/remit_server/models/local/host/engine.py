"""Generates steps with one model, several alternately (MOD-02).

Each generation has its own cache, grammar and random state, and computes the same as it would alone; so the number of
concurrent generations does not change an answer. That is why tokens of several are not computed in one batch: the last
bits of a matrix product depend on its number of rows, and in a near tie the chosen token with them.

Schedules requests by priority, and fairly between sessions (MOD-05, SCH-05). A round is the unit of time.

Keeps statistics of the model process since it loaded its model.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from remit_server.contract import ModelStats
from remit_server.models.local.host.caches import CacheStore, Sessions, resume
from remit_server.models.local.host.generation import Emit, Generation
from remit_server.models.local.host.grammar.step_grammar import GrammarError
from remit_server.models.local.host.loading import HostError
from remit_server.models.local.host.mlx_backend import LanguageModel
from remit_server.models.local.host.model_adapter import ModelAdapter
from remit_server.models.local.host.token_caches import Cache
from remit_server.models.local.wire import Error, FinishedFrame, Generate
from remit_server.models.ports import Priority
from remit_server.scheduling.schedule import Limits, Schedule, Task, advance, end, enqueue, yielded

log = logging.getLogger("remit.model")


class Engine:
    """One loaded model with its adapter and its sessions' caches. Used on the model's thread only."""

    def __init__(
        self, model: LanguageModel, adapter: ModelAdapter, emit: Emit, cache_bytes: int, store: CacheStore | None
    ) -> None:
        """With a `store`, caches survive the process."""
        self._model = model
        self._emit = emit
        self._adapter = adapter
        self._store = store
        self._sessions: Sessions[Cache] = Sessions(cache_bytes)
        self._queue = FairQueue()
        self._waiting: dict[str, Generate] = {}
        self._running: dict[str, Generation] = {}
        self._counts = Counts()
        self._rounds = 0

    @property
    def idle(self) -> bool:
        """Whether nothing is queued or running."""
        return not self._waiting and not self._running

    def submit(self, request: Generate) -> None:
        """Queues a generation. Its events are emitted during later rounds, and end with Finished or Error."""
        self._waiting[request.id] = request
        self._queue.put(request.id, _queue_key(request))

    def cancel(self, request_id: str) -> None:
        """Ends a generation, or removes it from the queue; an unknown id has already ended."""
        if self._waiting.pop(request_id, None) is not None:
            self._queue.remove(request_id)
            self._emit(FinishedFrame(id=request_id, reason="cancelled"))
        elif (generation := self._running.get(request_id)) is not None:
            self._end(generation)

    def close(self) -> None:
        """Ends all generations, and saves the caches if there is a store."""
        for request_id in (*self._waiting, *self._running):
            self.cancel(request_id)
        if self._store is not None:
            for name, session in self._sessions.kept().items():
                self._store.save(name, session)

    def round(self) -> None:
        """Advances each generation whose turn it is by one step: a token, or for one of them a part of its prompt."""
        self._rounds += 1
        chosen = [generation for name in self._queue.round() if (generation := self._get_or_begin(name)) is not None]
        for step in (Generation.begin_token, Generation.take_token):
            for generation in chosen:
                if not generation.reading and generation.id in self._running:
                    self._attempt(generation, step)
        readers = [generation for generation in chosen if generation.reading]
        if readers:
            # One at a time: other generations wait for at most one part of a prompt between two tokens.
            self._attempt(readers[self._rounds % len(readers)], Generation.read)

    def stats(self) -> ModelStats:
        """Returns the caches' state and the sums."""
        return self._counts.stats(
            sessions=len(self._sessions),
            cache_bytes=self._sessions.nbytes,
            waiting=len(self._waiting),
            running=len(self._running),
        )

    def _get_or_begin(self, request_id: str) -> Generation | None:
        """Returns a running generation, or starts a queued one. If that fails, emits the error and returns None."""
        if (running := self._running.get(request_id)) is not None:
            return running
        request = self._waiting.pop(request_id)
        try:
            generation = self._running[request_id] = self._begin(request)
        except Exception as error:
            self._queue.remove(request_id)
            self._emit(_error_frame(request_id, error))
            return None
        return generation

    def _begin(self, request: Generate) -> Generation:
        text = self._adapter.prompt(request)
        keyed_guide, output = self._adapter.constrain(request, text), self._adapter.open_reader(request, text)
        name = _cache_name(_queue_key(request))
        session = self._sessions.take(name)
        if session is None and self._store is not None:
            session = self._store.load(name)
        others = self._sessions.kept().values()
        prompt = resume(session, others, text, self._model.encode, self._model.new_cache)
        room = self._model.context - len(prompt.tokens)
        if room <= 0:
            why = f"it has {len(prompt.tokens)} tokens, and the model reads {self._model.context}"
            fix = "start a new session, or use a larger model"
            tokens, window = len(prompt.tokens), self._model.context
            raise HostError("the conversation does not fit the model", why, fix, tokens=tokens, window=window)
        limit = min(request.max_tokens, room)
        keyed_guide[1].set_limit(limit)
        return Generation(
            self._model,
            request,
            prompt,
            keyed_guide,
            output,
            text=text,
            max_tokens=limit,
            emit=self._emit,
            drafter=self._adapter.drafter(request),
            ends=self._adapter.ends(request),
        )

    def _attempt(self, generation: Generation, step: Callable[[Generation], None]) -> None:
        """Runs one step of a generation; an error ends that generation only."""
        try:
            step(generation)
        except Exception as error:
            self._forget(generation, failed=True)
            self._emit(_error_frame(generation.id, error))
            return
        if generation.over:
            self._end(generation)

    def _end(self, generation: Generation) -> None:
        self._forget(generation, failed=False)
        self._sessions.keep(_cache_name(_queue_key(generation.request)), generation.session())
        finished = generation.finished()
        self._counts.count(finished, shared=generation.prompt.shared)
        self._emit(finished)

    def _forget(self, generation: Generation, *, failed: bool) -> None:
        self._running.pop(generation.id, None)
        self._queue.remove(generation.id)
        self._adapter.used(generation.keyed_guide, failed=failed)


def _queue_key(request: Generate) -> QueueKey:
    return request.session_id, request.priority


def _cache_name(key: QueueKey) -> str:
    """Returns the name of a cache; background work and completions have caches apart from their session's turns."""
    session, priority = key
    return session if priority == "turn" else f"{priority}\n{session}"


def _error_frame(request_id: str, error: Exception) -> Error:
    match error:
        case HostError(what=what, why=why, fix=fix, tokens=tokens, window=window):
            return Error(id=request_id, what=what, why=why, fix=fix, tokens=tokens, window=window)
        case GrammarError():
            fix = "ask again, or use another model"
            return Error(id=request_id, what="the model's answer cannot be used", why=str(error), fix=fix)
        case _:
            log.error("generation %s failed", request_id, exc_info=error)
            why = f"{type(error).__name__}: {error}"[:300]
            return Error(
                id=request_id, what="the model failed", why=why, fix="ask again; the model's log has the details"
            )


MOST_TOGETHER = 8
"""The most generations of one priority that run at once; each holds a cache."""
LOWER_PRIORITY_EVERY = 16
"""The number of rounds after which background work gets a step too, so that it does not starve."""
_PRIORITIES: Final[dict[Priority, int]] = {"turn": 2, "background": 3, "cursor": 5}

QueueKey = tuple[str, Priority]
"""Identifies the queue of a session's requests of one priority; they run in order, since they share a prompt cache."""


class FairQueue:
    """Requests by id, in queues. Only the first of each queue runs.

    Each step of a generation is queued by itself, at its request's place. A completion at the cursor waits as long as
    anything else waits, because the next key that is typed ends it anyway.
    """

    def __init__(self) -> None:
        self._schedule = Schedule(Limits(MOST_TOGETHER, LOWER_PRIORITY_EVERY, one_level=True))
        self._keys: dict[str, QueueKey] = {}
        self._rounds = 0

    def __len__(self) -> int:
        return len(self._keys)

    def put(self, request_id: str, key: QueueKey) -> None:
        """Adds a request at the end of its queue."""
        before = frozenset(name for name, queue in self._keys.items() if queue == key)
        task = Task(request_id, _PRIORITIES[key[1]], after=before, patient=key[1] == "cursor")
        self._schedule = enqueue(self._schedule, task, self._rounds)
        self._keys[request_id] = key

    def remove(self, request_id: str) -> None:
        """Removes a request that has ended; an unknown id has already been removed."""
        self._keys.pop(request_id, None)
        # However it ended, the next one of its session may run.
        self._schedule, _ = end(self._schedule, request_id, "completed", self._rounds)

    def round(self) -> tuple[str, ...]:
        """Returns the requests that run one step now: those of the highest waiting priority, at times lower ones."""
        self._rounds += 1
        self._schedule, moves = advance(self._schedule, self._rounds)
        for move in moves:
            self._schedule = yielded(self._schedule, move.id, self._rounds)
        return tuple(move.id for move in moves)


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

    def count(self, finished: FinishedFrame, *, shared: bool) -> None:
        """Adds a generation; `shared`: it began with a copy of another session's cache."""
        self.generations += 1
        self.hits += finished.cached_tokens > 0
        self.shared += shared
        self.cached_tokens += finished.cached_tokens
        self.read_tokens += finished.prompt_tokens - finished.cached_tokens
        self.generated_tokens += finished.completion_tokens
        self.decode_s += finished.decode_s

    def stats(self, *, sessions: int, cache_bytes: int, waiting: int, running: int) -> ModelStats:
        """Returns the sums, the caches' state and the running requests."""
        return ModelStats(
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
