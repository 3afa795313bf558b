"""Writes a checkpoint as the model folder that the server loads: `python -m training.export run`."""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer

from training.network import LONGEST, Shape

MODEL_DIR = Path(__file__).parent.parent / "server/remit_server/models/embedded/model"


def export(run: Path, folder: Path) -> None:
    """Write the tokenizer, config.json and model.safetensors (half precision) of a training run into `folder`."""
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copyfile(run / name, folder / name)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    config = {
        **Shape().as_config(),
        "max_position_embeddings": LONGEST,
        "eos_token_id": tokenizer.token_to_id("<|end|>"),
        "pad_token_id": tokenizer.token_to_id("<|pad|>"),
    }
    checkpoint = torch.load(run / "checkpoint.pt")
    weights = {name: tensor.to(torch.float16).contiguous() for name, tensor in checkpoint.items()}
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n", "utf-8")
    save_file(weights, folder / "model.safetensors", metadata={"format": "mlx"})


def main() -> None:
    """Export from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path, help="folder that training wrote")
    parser.add_argument("--folder", type=Path, default=MODEL_DIR)
    options = parser.parse_args()
    export(options.run, options.folder)


if __name__ == "__main__":
    main()
