"""Turns the weights that ship back into a training run: `python -m training.resume run`."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import torch
from safetensors.torch import load_file

from training.export import MODEL_DIR


def resume(folder: Path, run: Path) -> None:
    """Write the checkpoint and the tokenizer of the model in `folder` into `run`, for `training.train --resume`."""
    run.mkdir(parents=True, exist_ok=True)
    weights = load_file(folder / "model.safetensors")
    torch.save({name: tensor.float() for name, tensor in weights.items()}, run / "checkpoint.pt")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copyfile(folder / name, run / name)


def main() -> None:
    """Resume from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path, help="folder to train in")
    parser.add_argument("--folder", type=Path, default=MODEL_DIR)
    options = parser.parse_args()
    resume(options.folder, options.run)


if __name__ == "__main__":
    main()
