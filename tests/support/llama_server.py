"""llama.cpp's own server with a model of random weights, behind a proxy that keeps what was sent to it.

The person who runs these tests has to build the server: REMIT_LLAMA_SERVER names the program, and the package `gguf`
writes the model.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

WIDTH, LAYERS, INNER, HEADS = 64, 2, 128, 4
QUOTE = '"'
TEMPLATE = (
    "{%- for m in messages -%}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{%- endfor -%}"
    "{%- if add_generation_prompt -%}<|im_start|>assistant\n{%- endif -%}"
)


@dataclass
class LlamaServer:
    """`url` is the proxy's, `requests` what came through it; `direct` is the server's own address."""

    url: str
    direct: str
    requests: list[dict[str, Any]] = field(default_factory=list)

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(f"{self.direct}{path}", timeout=10) as answer:
            return json.loads(answer.read())

    def idle_within(self, seconds: float) -> bool:
        """Returns whether the server stops all work within this time."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if not any(slot["is_processing"] for slot in self.get("/slots")):
                return True
            time.sleep(0.05)
        return False


@contextmanager
def llama_server(folder: Path, window: int) -> Iterator[LlamaServer]:
    program = os.environ.get("REMIT_LLAMA_SERVER")
    if program is None:
        pytest.skip("REMIT_LLAMA_SERVER names no llama-server")
    model = folder / "random.gguf"
    write_model(model, window)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [program, "-m", str(model), "--port", str(port), "--jinja", "-c", str(window), "-np", "1", "--slots"]
    log = (folder / "llama-server.log").open("wb")
    process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        wait_until_ready(process, port, "llama-server")
        yield from _proxied(port)
    finally:
        process.kill()
        process.wait()
        log.close()


def wait_until_ready(process: subprocess.Popen[bytes], port: int, name: str, most_s: float = 60.0) -> None:
    until = time.monotonic() + most_s
    while time.monotonic() < until:
        assert process.poll() is None, f"{name} ended"
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5):
                return
        except OSError:
            time.sleep(0.1)
    raise AssertionError(f"{name} does not get ready")


def _proxied(port: int) -> Iterator[LlamaServer]:
    server = LlamaServer("", f"http://127.0.0.1:{port}")
    listener = ThreadingHTTPServer(("127.0.0.1", 0), _forwarding(server, port))
    listener.daemon_threads = True
    thread = threading.Thread(target=listener.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    server.url = f"http://127.0.0.1:{listener.server_port}"
    try:
        yield server
    finally:
        listener.shutdown()
        listener.server_close()
        thread.join()


def _forwarding(server: LlamaServer, port: int) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

        def do_GET(self) -> None:
            self._forward(None)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            server.requests.append(json.loads(body))
            self._forward(body)

        def _forward(self, body: bytes | None) -> None:
            upstream = HTTPConnection("127.0.0.1", port, timeout=120)
            upstream.request(self.command, self.path, body, {"Content-Type": "application/json"})
            answer = upstream.getresponse()
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.getheader("Content-Type", ""))
            self.send_header("Connection", "close")
            self.end_headers()
            self.close_connection = True
            try:
                while more := answer.read1(65_536):
                    self.wfile.write(more)
                    self.wfile.flush()
            except OSError:
                pass  # the client has left, so leave the server too
            finally:
                upstream.close()

    return Handler


def write_model(file: Path, window: int) -> None:
    """Writes a Llama of random weights, whose tokens are bytes."""
    gguf = pytest.importorskip("gguf", reason="writes the model")
    import numpy as np

    random = np.random.default_rng(0)
    tokens = ["<unk>", "<s>", "</s>", "<|im_start|>", "<|im_end|>", *(f"<0x{byte:02X}>" for byte in range(256))]
    writer = gguf.GGUFWriter(str(file), "llama")
    writer.add_name("random")
    writer.add_context_length(window)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_vocab_size(len(tokens))
    writer.add_file_type(0)
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([0.0] * len(tokens))
    writer.add_token_types([2, 3, 3, 3, 3] + [6] * 256)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(4)
    writer.add_unk_token_id(0)
    writer.add_add_bos_token(True)
    writer.add_add_space_prefix(False)
    writer.add_chat_template(TEMPLATE)

    def add(name: str, *shape: int, ones: bool = False) -> None:
        made = np.ones(shape) if ones else random.normal(0, 0.05, shape)
        if name == "token_embd.weight":
            made[:, 0] = 8.0  # every hidden state has this part, so it works as a bias
        if name == "output.weight":
            made[:, 0] = 0.0
            made[tokens.index(f"<0x{ord(QUOTE):02X}>"), 0] = 0.5  # strings end sooner than by chance
        writer.add_tensor(name, made.astype(np.float32))

    add("token_embd.weight", len(tokens), WIDTH)
    add("output_norm.weight", WIDTH, ones=True)
    add("output.weight", len(tokens), WIDTH)
    for layer in range(LAYERS):
        prefix = f"blk.{layer}."
        for name in ("attn_norm", "ffn_norm"):
            add(f"{prefix}{name}.weight", WIDTH, ones=True)
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            add(f"{prefix}{name}.weight", WIDTH, WIDTH)
        add(f"{prefix}ffn_gate.weight", INNER, WIDTH)
        add(f"{prefix}ffn_up.weight", INNER, WIDTH)
        add(f"{prefix}ffn_down.weight", WIDTH, INNER)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
