"""Trains the embedded model: a copy curriculum on random tokens, then generated conversations that grow longer.

Run from the root: `python -m training.train --out run`. Stopped early, it leaves its last checkpoint.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional

from training import conversations, generator
from training.network import Network, Shape
from training.tokenizer import save, train

BATCH_TOKENS = 3000
LENGTH_STEP = 64
"""Lengths of batches are multiples of this."""
PROMPT_WEIGHT = 0.1
"""Weight of the loss on tokens the model only reads; those it writes weigh 1."""
DECISION_WEIGHT = 4.0
"""Weight of a step's first token, which decides between acting and stopping."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One conversation as tokens, with the loss weight of each."""

    tokens: list[int]
    weights: list[float]


class Optimisers:
    """Muon for the matrices inside the blocks, AdamW for everything else, on one learning-rate schedule."""

    def __init__(self, network: Network, rate: float) -> None:
        matrices = [p for name, p in network.blocks.named_parameters() if p.dim() == 2 and not name.endswith("shift")]
        inside = {id(p) for p in matrices}
        rest = [p for p in network.parameters() if id(p) not in inside]
        self._all = (
            (torch.optim.Muon(matrices, lr=rate, weight_decay=0.05, adjust_lr_fn="match_rms_adamw"), rate),
            (torch.optim.AdamW(rest, lr=rate, betas=(0.9, 0.98), weight_decay=0.0), rate),
        )
        self._network = network

    def step(self, loss: Tensor, scale: float) -> None:
        """Take one step down `loss` at `scale` times the full learning rate."""
        for optimiser, rate in self._all:
            optimiser.param_groups[0]["lr"] = rate * scale
            optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self._network.parameters(), 1.0)
        for optimiser, _ in self._all:
            optimiser.step()


def weighted_loss(network: Network, tokens: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """Return the weighted mean loss, to train on, and the plain mean over what the model writes, to watch."""
    with torch.autocast("cpu", torch.bfloat16):
        logits = network.logits(network(tokens[:, :-1]))
    losses = functional.cross_entropy(logits.float().flatten(0, 1), tokens[:, 1:].flatten(), reduction="none")
    weight = weights[:, 1:].flatten()
    produced = (weight >= 1).float()
    return (losses * weight).sum() / weight.sum(), (losses.detach() * produced).sum() / produced.sum()


def learn_copying(network: Network, optimisers: Optimisers, seconds: float) -> None:
    """Teach the network to repeat random segments, which real conversations alone teach far more slowly.

    Each row has few tokens of its own, so that it repeats itself and only a long context tells where its copy is.
    """
    chance = torch.Generator().manual_seed(5)
    started, step, running = spent(), 0, 7.0
    while spent() - started < seconds and running > 0.03:
        sizes = random.Random(step)
        length, own, gap = sizes.choice((16, 24, 48)), sizes.choice((4, 8, 16, 200)), sizes.choice((1, 17))
        rows = 2400 // length
        alphabet = torch.randint(8, 1024, (rows, own), generator=chance)
        segment = alphabet.gather(1, torch.randint(0, own, (rows, length), generator=chance))
        between = alphabet.gather(1, torch.randint(0, own, (rows, gap), generator=chance))
        known = length - 8  # before that, the context may not tell yet
        weights = torch.cat([torch.zeros(rows, length + gap + 8), torch.ones(rows, known)], 1)
        loss, _ = weighted_loss(network, torch.cat([segment, between, segment], 1), weights)
        step += 1
        optimisers.step(loss, min(1.0, step / 40))
        running = 0.9 * running + 0.1 * loss.item()
        if step % 50 == 0:
            print(f"copying: step {step}, {spent() - started:.0f} s, loss {running:.3f}", flush=True)


def samples(tokenizer: Tokenizer, rng: random.Random, max_lines: int) -> list[Sample]:
    """Generate conversations and encode them."""
    made: list[Sample] = []
    for _ in range(1024):
        tokens: list[int] = []
        weights: list[float] = []
        for text, produced in conversations.segments(generator.conversation(rng, max_lines=max_lines)):
            piece = tokenizer.encode(text, add_special_tokens=False).ids
            tokens += piece
            weights += [DECISION_WEIGHT, *[1.0] * (len(piece) - 1)] if produced else [PROMPT_WEIGHT] * len(piece)
        made.append(Sample(tokens, weights))
    return made


def batches(tokenizer: Tokenizer, rng: random.Random, max_lines: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Group one pool of samples of like length into padded batches of about BATCH_TOKENS tokens, in random order.

    Few shapes: for each new one the matrix product is compiled anew, which takes longer than the product.
    """
    pool = sorted(samples(tokenizer, rng, max_lines), key=lambda sample: len(sample.tokens))
    groups: dict[int, list[list[Sample]]] = {}
    for sample in pool:
        longest = -(-len(sample.tokens) // LENGTH_STEP) * LENGTH_STEP
        alike = groups.setdefault(longest, [[]])
        if len(alike[-1]) == max(1, BATCH_TOKENS // longest):
            alike.append([])
        alike[-1].append(sample)
    batched = [(longest, group) for longest, alike in groups.items() for group in alike]
    rng.shuffle(batched)
    for longest, group in batched:
        rows = max(1, BATCH_TOKENS // longest)
        tokens = torch.zeros(rows, longest, dtype=torch.long)
        weights = torch.zeros(rows, longest)
        for row, sample in enumerate(group):
            tokens[row, : len(sample.tokens)] = torch.tensor(sample.tokens)
            weights[row, : len(sample.tokens)] = torch.tensor(sample.weights)
        yield tokens, weights


def learn_renaming(
    network: Network, optimisers: Optimisers, tokenizer: Tokenizer, minutes: float, seed: int, out: Path
) -> None:
    """Train on conversations for `minutes` of all threads, longer files as time goes on, saving every two minutes.

    Processor time and not the clock's, so that a busy machine trains as much as an idle one.
    """
    rng = random.Random(seed)
    started = saved = spent()
    step, seen, running = 0, 0, 3.0
    while (done := (spent() - started) / 60 / minutes) < 1:
        for tokens, weights in batches(tokenizer, rng, longest_file(done)):
            loss, produced = weighted_loss(network, tokens, weights)
            step, seen = step + 1, seen + tokens.numel()
            optimisers.step(loss, rate_scale(step, done))
            running = 0.97 * running + 0.03 * produced.item()
            elapsed = spent() - started
            done = elapsed / 60 / minutes
            if step % 50 == 0:
                print(f"step {step}, {elapsed:.0f} s, loss {running:.4f}, {seen / elapsed:.0f} tokens/s", flush=True)
            if spent() - saved > 45 or done >= 1:
                torch.save(network.state_dict(), out)
                saved = spent()
            if done >= 1:
                break


def spent() -> float:
    """Seconds of processor time that each of the threads has had."""
    return time.process_time() / torch.get_num_threads()


def longest_file(done: float) -> int:
    """Lines of the longest file generated when `done` of the time is over."""
    return 10 if done < 0.2 else 20 if done < 0.6 else 50


def rate_scale(step: int, done: float) -> float:
    """Learning rate relative to its peak: a short warm-up, a plateau, then a straight way down."""
    return min(1.0, step / 40) * max(0.02, min(1.0, (1 - done) / 0.6))


def main() -> None:
    """Train from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=40)
    parser.add_argument("--copy-seconds", type=float, default=240)
    parser.add_argument("--rate", type=float, default=4e-3)
    parser.add_argument("--seed", type=int, default=11, help="seed of the conversations; another one when resuming")
    parser.add_argument("--threads", type=int, default=1, help="more than one gain little on so small a network")
    parser.add_argument("--resume", action="store_true", help="go on from the checkpoint in the output folder")
    parser.add_argument("--out", type=Path, required=True, help="folder for the checkpoint and the tokenizer")
    options = parser.parse_args()
    checkpoint: Path = options.out / "checkpoint.pt"
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    network = Network(Shape())
    optimisers = Optimisers(network, options.rate)
    if options.resume:
        network.load_state_dict(torch.load(checkpoint))
    else:
        save(train(), options.out)
    learn_copying(network, optimisers, options.copy_seconds)
    torch.save(network.state_dict(), checkpoint)
    tokenizer = Tokenizer.from_file(str(options.out / "tokenizer.json"))
    learn_renaming(network, optimisers, tokenizer, options.minutes, options.seed, checkpoint)


if __name__ == "__main__":
    main()
