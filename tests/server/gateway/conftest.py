"""Gateways of the real program, on the embedded model and on one with random weights that reads all it is told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from gateway_process import GatewayProcess


@pytest.fixture(scope="module")
def gateway() -> Iterator[GatewayProcess]:
    """On the embedded model."""
    with GatewayProcess("--model", "embedded", "--max-tokens", "8") as process:
        yield process


@pytest.fixture(scope="module")
def reader_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with room for any message."""
    from random_model import random_model

    return random_model(tmp_path_factory.mktemp("models") / "reader", 60_000)


@pytest.fixture(scope="module")
def narrow_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with room for a few sentences."""
    from random_model import random_model

    return random_model(tmp_path_factory.mktemp("models") / "narrow", 400)


@pytest.fixture(scope="module")
def reader(reader_model: Path) -> Iterator[GatewayProcess]:
    """On a model whose prompt holds every character of the conversation."""
    with GatewayProcess("--model", str(reader_model), "--max-tokens", "4") as process:
        yield process


@pytest.fixture(scope="module")
def narrow(narrow_model: Path) -> Iterator[GatewayProcess]:
    """On a model that a long message is too much for."""
    with GatewayProcess("--model", str(narrow_model), "--max-tokens", "16") as process:
        yield process
