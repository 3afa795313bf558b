"""Configuration: which value counts, where it was set, and that a project loosens nothing (CFG-01 to CFG-03)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from config_values import VALUES, as_variable

from remit_server.cli.commands.setup.config import template
from remit_server.errors import SetupError
from remit_server.runtime.config.editor import read_editor
from remit_server.runtime.config.form import KEYS, SECTIONS, ConfigForm, Project, project_may, variable_of
from remit_server.runtime.config.layers import places, resolve, strictness
from remit_server.runtime.own_files.folder_record import write_trust
from remit_server.runtime.settings import Settings


class Places:
    """A home, a project and the system's folder, with a configuration file in each that a test writes."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.workspace = folder / "shop"
        (self.workspace / ".remit").mkdir(parents=True)
        monkeypatch.setenv("XDG_CONFIG_DIRS", str(folder / "system"))
        self.environment = {
            "HOME": str(folder / "home"),
            "REMIT_CONFIG_DIR": str(folder / "config"),
            "REMIT_STATE_DIR": str(folder / "state"),
        }
        self.files = {layer: files[0] for layer, files in places(self.workspace, self.environment)}

    def write(self, layer: str, text: str) -> Path:
        path = self.files[layer]  # type: ignore[index]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        write_trust(self.workspace, trusted=True, environment=self.environment)
        return path

    def set(self, layer: str, key: tuple[str, str], value: Any) -> Path:
        return self.write(layer, json.dumps({key[0]: {key[1]: value}}))

    def resolved(self, **given: str) -> Any:
        return resolve(self.workspace, self.environment | given)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    return Places(tmp_path, monkeypatch)


def test_CFG_01_every_setting_has_its_variable_and_says_what_a_project_may() -> None:
    assert {project_may(*key) for key in KEYS} == set(get_args(Project))
    assert len({variable_of(*key) for key in KEYS}) == len(KEYS)


def test_CFG_01_a_blank_variable_names_nothing(here: Places) -> None:
    for blank in ("", " ", "\t\n"):
        found = resolve(here.workspace, here.environment | {"REMIT_MODEL": blank, "REMIT_SEED": blank})
        assert found == resolve(here.workspace, here.environment)


def test_CFG_01_the_later_layer_counts_and_says_where(here: Places) -> None:
    key = ("model", "seed")
    assert (here.resolved().value(key), here.resolved().origins[key].layer) == (0, "default")
    for number, layer in enumerate(("system", "user", "home", "project"), 1):
        path = here.set(layer, key, number)
        found = here.resolved()
        assert (found.value(key), str(found.origins[key])) == (number, f"{layer}: {path}:1")
    found = here.resolved(REMIT_SEED="7")
    assert (found.value(key), str(found.origins[key])) == (7, "environment: REMIT_SEED")
    found = resolve(here.workspace, here.environment | {"REMIT_SEED": "7"}, {key: "8"})
    assert (found.value(key), str(found.origins[key])) == (8, "command line")
    # A key that one file leaves out keeps the value of the other file.
    here.write("project", "model: { top_p: 0.5 }\n")
    assert here.resolved().value(key) == 3


@pytest.mark.parametrize("key", KEYS, ids=".".join)
def test_CFG_01_each_setting_changes_the_settings_from_a_file(here: Places, key: tuple[str, str]) -> None:
    plain = Settings.from_environment(here.workspace, here.environment)
    here.set("user", key, VALUES[key][0])
    changed = Settings.from_environment(here.workspace, here.environment)
    assert changed != plain
    value = VALUES[key][0]
    variable = {variable_of(*key): as_variable(value)}
    assert Settings.from_environment(here.workspace, here.environment | variable) == changed


@pytest.mark.parametrize("key", KEYS, ids=".".join)
def test_CFG_02_a_hostile_project_loosens_nothing(here: Places, key: tuple[str, str]) -> None:
    """Runs for every setting, so that no new one can be forgotten."""
    lower, higher = VALUES[key]
    match project_may(*key):
        case "no":
            path = here.set("project", key, lower)
            with pytest.raises(SetupError) as refused:
                here.resolved()
            assert f"{path}:1:" in str(refused.value)
            assert f"a project may not set `{'.'.join(key)}`" in str(refused.value)
        case "tighten":
            before = here.resolved().value(key)
            here.set("project", key, higher)
            assert here.resolved().value(key) == before
            here.set("user", key, lower)
            assert here.resolved().value(key) == lower
            least = lower if isinstance(lower, str) else 1
            here.set("user", key, higher)
            here.set("project", key, least)
            assert here.resolved().value(key) == least
        case "free":
            assert key[0] == "model", "what a project sets is how the model writes, and nothing else"
            here.set("project", key, lower)
            assert here.resolved().value(key) == lower


@pytest.mark.parametrize(
    ("text", "why", "fix"),
    [
        ("model: { temprature: 1 }\n", ":1:10: unknown key `temprature`", "did you mean `temperature`"),
        ("modle: {}\n", ":1:1: unknown key `modle`", "did you mean `model`"),
        ("model: { temperature: hot }\n", ":1:10: `temperature: hot` is not right", "number"),
        ("model: { temperature: 3 }\n", ":1:10: `temperature: 3` is not right", "less than or equal to 2"),
        ("telemetry: { endpoint: x }\n", ":1:14: `endpoint: x` is not right", "^https?://"),
        ("workflow: { test_hosts: [a.org, b/c] }\n", ":1:33: `b/c` ", "pypi.org:8443"),
        ("model: [\n", ":2:1: ", "correct the YAML"),
        ("model: { seed: 1 }\nmodel: { seed: 2 }\n", ":2:1: ", "keep one of them"),
    ],
)
def test_CFG_03_what_cannot_be_used_is_said_with_its_place(here: Places, text: str, why: str, fix: str) -> None:
    path = here.write("user", text)
    with pytest.raises(SetupError) as refused:
        here.resolved()
    assert f"{path}{why}" in refused.value.why
    assert fix in refused.value.fix


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("REMIT_OTLP_ENDPOINT", "127.0.0.1:4318"),
        ("REMIT_MESSAGE_PREFIX", "x" * 41),
        ("REMIT_TEST_HOSTS", "https://pypi.org"),
        ("REMIT_TEST_HOSTS", ",".join(f"{n}.org" for n in range(17))),
    ],
)
def test_CFG_03_a_variable_that_is_no_number_is_not_called_one(here: Places, name: str, text: str) -> None:
    with pytest.raises(SetupError) as refused:
        here.resolved(**{name: text})
    assert f"cannot use {name}=`{text}`" in refused.value.what
    assert "is not a number" not in refused.value.why


def test_CFG_03_two_files_in_one_place_and_what_is_no_text(here: Places) -> None:
    path = here.write("user", "model: { seed: 1 }\n")
    path.with_suffix(".json").write_text("{}")
    with pytest.raises(SetupError, match="both .* exist"):
        here.resolved()
    path.with_suffix(".json").unlink()
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(SetupError, match="not UTF-8"):
        here.resolved()
    path.write_text("# " + "x" * (2 << 20))
    with pytest.raises(SetupError, match="larger than 1 MiB"):
        here.resolved()
    path.unlink()
    path.symlink_to("/dev/zero")
    assert here.resolved().value(("model", "seed")) == 0, "a device is no file"


def test_CFG_01_the_template_sets_nothing_and_names_all(here: Places) -> None:
    text = "\n".join(template())
    here.write("user", text)
    assert here.resolved().form == ConfigForm()
    uncommented = "\n".join(
        line.removeprefix("# ").removeprefix("#")
        if line.startswith((*(f"# {section}:" for section in SECTIONS), "#   "))
        else line
        for line in text.splitlines()
    )
    assert {section: set(found) for section, found in yaml.safe_load(uncommented).items()} == {
        section: set(form.model_fields) for section, form in SECTIONS.items()
    }
    here.write("user", uncommented)
    assert here.resolved().form == ConfigForm()


def test_CFG_01_the_schema_holds_what_is_read() -> None:
    import jsonschema

    schema = json.loads((Path(__file__).parents[2] / "schemas" / "Config.json").read_text())
    for (section, key), (value, _) in VALUES.items():
        jsonschema.validate({section: {key: value}}, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"model": {"temprature": 1}}, schema)


EDGES: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    1,
    1e308,
    0.5,
    "",
    " ",
    "strict",
    "explore",
    "é" * 300,
    "\0",
    [],
    [1],
    {},
    {"a": 1},
]


@pytest.mark.parametrize("key", KEYS)
def test_LSP_15_no_value_of_an_editor_is_an_error_and_none_loosens(here: Places, key: tuple[str, str]) -> None:
    """Each edge value is set over the default, a lower and a higher value: it counts, or one sentence says why not."""
    for own in (None, *VALUES[key]):
        here.write("user", "{}") if own is None else here.set("user", key, own)
        before = here.resolved()
        for value in (*EDGES, *VALUES[key]):
            taken, said = read_editor({key[0]: {key[1]: value}}, before, trusted=True)
            after = resolve(here.workspace, here.environment, editor=taken) if taken else before
            assert len(taken) + len(said) == (value is not None)
            if taken and project_may(*key) == "tighten":
                assert strictness(key, after.value(key)) <= strictness(key, before.value(key))
                assert after.value(key) == taken[key]
