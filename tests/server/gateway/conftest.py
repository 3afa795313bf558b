"""Gateways of the real program, with models of random weights whose prompts hold everything they are told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from gateway_process import GatewayProcess
from random_model import kept_model, random_model


@pytest.fixture(scope="module")
def gateway() -> Iterator[GatewayProcess]:
    """A gateway with a model that reads 4,096 tokens."""
    with GatewayProcess("--model", kept_model(), "--max-tokens", "8") as process:
        yield process


@pytest.fixture(scope="module")
def reader_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with room for any message."""
    return random_model(tmp_path_factory.mktemp("models") / "reader", 60_000)


@pytest.fixture(scope="module")
def narrow_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with room for a few sentences."""
    return random_model(tmp_path_factory.mktemp("models") / "narrow", 400)


@pytest.fixture(scope="module")
def reader(reader_model: Path) -> Iterator[GatewayProcess]:
    """A gateway with a model whose prompt holds every character of the conversation."""
    with GatewayProcess("--model", str(reader_model), "--max-tokens", "4") as process:
        yield process


@pytest.fixture(scope="module")
def narrow(narrow_model: Path) -> Iterator[GatewayProcess]:
    """A gateway with a model for which a long message is too long."""
    with GatewayProcess("--model", str(narrow_model), "--max-tokens", "16") as process:
        yield process
