"""AGT-10: the effort that a person sets reaches a model whose template knows it; otherwise the person is told that it
is lost."""

from __future__ import annotations

import logging
from importlib.util import find_spec

import pytest
from messages import SAYS
from tiny_model import MARKERS, TEMPLATE, tiny_model

from remit_server.models.local.conversion import to_wire
from remit_server.models.local.wire import ChatMessage, Generate
from remit_server.models.ports import GenerateRequest, UserMessage

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("mlx_lm") is None, reason="needs the mlx extra"),
]

KNOWS = "{%- set effort = reasoning_effort | default('its own') -%}<|system|>Effort: {{ effort }}<|end|>" + TEMPLATE


def asked(effort: str | None) -> Generate:
    return Generate.model_validate(
        {
            "id": "1",
            "session_id": "s",
            "messages": (ChatMessage(role="user", content="go"),),
            "intents": {},
            "effort": effort,
        }
    )


@pytest.mark.parametrize(("effort", "said"), [(None, "its own"), ("low", "low"), ("high", "high")])
def test_AGT_10_a_template_that_knows_of_effort_is_told(effort: str | None, said: str) -> None:
    from remit_server.models.local.host.mlx_backend import LanguageModel
    from remit_server.models.local.host.model_adapter import ModelAdapter

    model = LanguageModel.load(tiny_model("effort", MARKERS, KNOWS), lambda done, total: None)
    adapter = ModelAdapter(model, guided=True, thinking=False)
    assert f"Effort: {said}<|end|>" in adapter.prompt(asked(effort))


def test_AGT_10_where_it_knows_of_none_that_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    from remit_server.models.local.host.mlx_backend import LanguageModel
    from remit_server.models.local.host.model_adapter import ModelAdapter

    model = LanguageModel.load(tiny_model("markers", MARKERS, TEMPLATE), lambda done, total: None)
    adapter = ModelAdapter(model, guided=True, thinking=False)
    with caplog.at_level(logging.WARNING):
        assert adapter.prompt(asked("low")) == adapter.prompt(asked(None)) == adapter.prompt(asked("high"))
    assert caplog.text.count(SAYS.cannot_be_asked_for_an) == 1


def test_AGT_10_a_request_carries_its_effort_to_the_model_process() -> None:
    assert to_wire(GenerateRequest("s", (UserMessage("go"),), {}, effort="high")).effort == "high"
