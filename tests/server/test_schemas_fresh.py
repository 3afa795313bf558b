"""The generated schemas and TypeScript types agree with the contract (AGT-08)."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from remit_server import contract, schemas_export

ROOT = Path(__file__).parents[2]


def test_schemas_are_fresh() -> None:
    assert schemas_export.stale(ROOT) == [], "run `make schemas`"


def test_check_names_a_changed_a_missing_and_a_left_over_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(ROOT / "schemas", tmp_path / "schemas")
    target = tmp_path / schemas_export.TYPESCRIPT
    target.parent.mkdir(parents=True)
    target.write_text("export {};\n")
    (tmp_path / "schemas" / "RunRequest.json").unlink()
    (tmp_path / "schemas" / "Gone.json").write_text("{}")
    assert schemas_export.main(["--check", "--root", str(tmp_path)]) == 1
    assert set(capsys.readouterr().err.splitlines()) == {
        f"stale {schemas_export.TYPESCRIPT}",
        "stale schemas/RunRequest.json",
        "stale schemas/Gone.json",
    }
    assert schemas_export.main(["--root", str(tmp_path)]) == 0
    assert schemas_export.main(["--check", "--root", str(tmp_path)]) == 0
    assert not (tmp_path / "schemas" / "Gone.json").exists()


def test_every_event_is_in_the_union_and_told_apart_by_its_kind() -> None:
    schema: dict[str, Any] = json.loads((ROOT / "schemas" / "AgentEvent.json").read_text())
    events = {
        value.model_fields["kind"].default: name
        for name, value in vars(contract).items()
        if isinstance(value, type) and issubclass(value, contract.Event) and value is not contract.Event
    }
    assert {kind: ref.rpartition("/")[2] for kind, ref in schema["discriminator"]["mapping"].items()} == events
    assert all("kind" in schema["$defs"][name]["required"] for name in events.values())


def test_what_the_server_writes_has_every_field() -> None:
    written: BaseModel = contract.RunResult(session_id="s", turn_id="t", status="completed")
    schema: dict[str, Any] = json.loads((ROOT / "schemas" / "RunResult.json").read_text())
    assert set(schema["required"]) == set(written.model_dump(mode="json"))


def test_a_shape_without_typescript_is_refused() -> None:
    with pytest.raises(ValueError, match="no TypeScript"):
        schemas_export.typescript({"Odd": {"type": "object", "properties": {"x": {"not": {}}}}})
