"""The model process: one model, generating under a grammar of intents (MOD-02).

Runs as `python -m remit_server.models.local.host`; the server speaks to it through `remit_server.models.local.wire`.

Only `mlx_backend.py`, `decoding.py` and `token_caches.py` there touch MLX. `engine.py` says whose turn it is, by
`scheduling/`, `caches.py` which cache a prompt starts from. In text a row in `decoding.py` reads the chosen token
before it is known here, where a grammar forces tokens it waits for them. In `grammar/` a schema is written out
(`json_schema.py`), bounded (`schemas.py`) and made a grammar (`step_grammar.py`, the arguments in a dialect:
`arguments.py`); `json_closer.py` brings a JSON answer to its end within its tokens; `guide.py` tracks what comes, and
checks a value that no grammar held. `model_adapter.py` says how a model is asked, held and read, and the table
`FILL_IN` in `prompts.py` how a gap in a document is spelled; in `output/`, `output_reader.py` tells what it thinks from
what it answers, `native.py` and `harmony.py` read calls.
"""
