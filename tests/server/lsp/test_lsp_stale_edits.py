"""Edits through an editor that lies, is late, refuses or disconnects (FILE-06)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from messages import SAYS

from remit_server.contract import ErrorCode
from remit_server.errors import ToolError
from remit_server.models.built_in.answers import UNKNOWN
from remit_server.transports.lsp.buffers.documents import EditorDocuments, EditRequest, OpenBuffers, Refused, Unanswered
from remit_server.transports.lsp.buffers.edits import apply_changes
from remit_server.workspace.ports import OpenDocument

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

BEFORE = "total = 1\nprint(total)\n"
AFTER = BEFORE.replace("total", "subtotal")
PATH = "src/cart.py"


class Editor:
    """Applies edits as a real editor does, unless `behaviour` says otherwise."""

    def __init__(self, root: Path) -> None:
        (root / "src").mkdir(exist_ok=True)
        self.told: list[str] = []
        self.buffers = OpenBuffers(self.told.append)
        self.documents = EditorDocuments(root.resolve(), self.buffers, self.apply, settle_s=0.2)
        self.uri = (root / PATH).as_uri()
        self.text, self.version = BEFORE, 1
        self.requests: list[EditRequest] = []
        self.behaviour = "apply"
        self.buffers.open(self.uri, 1, BEFORE)

    def type(self, text: str) -> None:
        self.text, self.version = text, self.version + 1
        self.buffers.change(self.uri, self.version, [text])

    async def apply(self, request: EditRequest) -> Refused | Unanswered | None:
        self.requests.append(request)
        match self.behaviour:
            case "apply":
                self.type(apply_changes(self.text, [request.edit]))
            case "apply later":
                asyncio.get_running_loop().call_later(0.05, self.type, apply_changes(self.text, [request.edit]))
            case "apply and go on typing":
                self.type(apply_changes(self.text, [request.edit]))
                self.type(self.text + "# typed\n")
            case "apply and go on typing in one message":
                after = apply_changes(self.text, [request.edit])
                self.text, self.version = after + "# typed\n", self.version + 1
                self.buffers.change(self.uri, self.version, [after, self.text])
            case "refuse":
                return Refused("the editor refused the edit: stale")
            case "answer nothing":
                return Unanswered("the editor did not answer within 10 seconds")
            case "fail, though it applied":
                self.type(apply_changes(self.text, [request.edit]))
                return Unanswered("the editor answered with an error")
            case "apply something else":
                self.type("something else\n")
            case "convert line ends":
                self.type(apply_changes(self.text, [request.edit]).replace("\n", "\r\n"))
            case "lie":
                pass
        return None


@pytest.fixture
def editor(tmp_path):
    return Editor(tmp_path)


async def replace(editor: Editor) -> None:
    await editor.documents.replace(PATH, OpenDocument(1, BEFORE), AFTER, "Remit: edit")


@pytest.mark.parametrize(
    "behaviour",
    [
        "apply",
        "apply later",
        "apply and go on typing",
        "apply and go on typing in one message",
        "fail, though it applied",
        "convert line ends",
    ],
)
async def test_content_proves_an_edit(editor, behaviour):
    editor.behaviour = behaviour
    await replace(editor)
    assert len(editor.requests) == 1
    assert editor.requests[0].version == 1


@pytest.mark.parametrize(
    ("behaviour", "code"),
    [
        ("refuse", ErrorCode.STALE),
        ("lie", ErrorCode.OUTCOME_UNKNOWN),
        ("answer nothing", ErrorCode.OUTCOME_UNKNOWN),
        ("apply something else", ErrorCode.OUTCOME_UNKNOWN),
    ],
)
async def test_applied_true_proves_nothing(editor, behaviour, code):
    """THR-protocol-stale-version: `applied: true` without the new content is reported neither as success nor as
    failure."""
    editor.behaviour = behaviour
    with pytest.raises(ToolError) as raised:
        await replace(editor)
    assert raised.value.code is code
    assert not (raised.value.retryable and code is ErrorCode.OUTCOME_UNKNOWN)
    assert len(editor.requests) == 1


async def not_known(editor) -> ToolError:
    editor.behaviour = "lie"
    with pytest.raises(ToolError) as raised:
        await replace(editor)
    assert editor.told == []
    return raised.value


async def test_an_edit_that_arrives_late_is_told_once(editor):
    assert SAYS.was_changed_in_the_editor in (await not_known(editor)).what
    editor.type(AFTER)
    assert editor.told == [
        f"`{PATH}`: the edit has arrived after all: the buffer is changed, as you allowed, and not saved"
    ]
    editor.type(BEFORE)
    editor.type(AFTER)
    assert len(editor.told) == 1


async def test_an_edit_that_arrives_late_among_others_is_recognised(editor):
    await not_known(editor)
    editor.buffers.change(editor.uri, 2, [AFTER.replace("subtotal = 1", "subtotal = 12"), AFTER, AFTER + "more\n"])
    assert SAYS.arrived_after_all in editor.told[0]


async def test_another_text_than_the_late_edit_makes_is_said_to_be_one(editor):
    await not_known(editor)
    editor.type(BEFORE + "# typed\n")
    assert editor.told == [
        f"`{PATH}`: its buffer changed to something other than the edit's result: check whether it contains the edit"
    ]


async def test_a_document_that_is_closed_before_its_edit_arrives_is_told(editor):
    await not_known(editor)
    editor.buffers.close(editor.uri)
    assert SAYS.it_was_closed_before_its in editor.told[0]


async def test_a_buffer_that_changed_after_the_proposal_is_stale(editor):
    editor.type(BEFORE + "# typed\n")
    with pytest.raises(ToolError) as raised:
        await replace(editor)
    assert raised.value.code is ErrorCode.STALE
    assert editor.requests == []


async def test_a_file_that_was_closed_meanwhile_is_stale(editor):
    editor.buffers.close(editor.uri)
    assert editor.documents.get(PATH) is None
    with pytest.raises(ToolError):
        await replace(editor)


async def test_an_edit_that_changes_nothing_is_not_sent(editor):
    await editor.documents.replace(PATH, OpenDocument(1, BEFORE), BEFORE, "x")
    assert editor.requests == []


async def test_edits_of_one_editor_take_turns(editor):
    editor.behaviour = "apply later"
    second = editor.documents.replace(PATH, OpenDocument(1, BEFORE), "other\n", "x")
    results = await asyncio.gather(replace(editor), second, return_exceptions=True)
    assert results[0] is None
    assert isinstance(results[1], ToolError)
    assert editor.text == AFTER


async def test_buffers_are_keyed_by_real_workspace_path(editor, tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "src")
    buffers = editor.buffers
    buffers.open((tmp_path / "link" / "a b.py").as_uri(), 3, "x")
    assert editor.documents.get("src/a b.py") == OpenDocument(3, "x")
    assert buffers.at(f"file://{tmp_path}/link/a%20b.py") is buffers.at(f"file://{tmp_path}/link/%61 b.py")


async def test_files_outside_the_workspace_are_none_of_ours(editor, tmp_path):
    """THR-paths-prefix-collision, THR-paths-symlink-out."""
    outside = tmp_path.parent / f"{tmp_path.name}2"
    (tmp_path / "out").symlink_to(tmp_path.parent)
    for uri in (
        (outside / "a.py").as_uri(),
        (tmp_path / "out" / "a.py").as_uri(),
        f"file://{tmp_path}/../a.py",
        "untitled:Untitled-1",
        "remit-review:src/cart.py",
    ):
        editor.buffers.open(uri, 1, "x")
        assert editor.documents.paths() == (PATH,)


EDITING = {"workspace": {"applyEdit": True, "workspaceEdit": {"documentChanges": True}}}
NEOVIM = {"workspace": {"applyEdit": True, "workspaceEdit": {"resourceOperations": ["rename", "create", "delete"]}}}


def answer_edits(client, *, really: bool, version: int = 2):
    """Lets the client answer `applied: true`; `really` decides whether it applies the edit."""

    def handler(params):
        (change,) = params["edit"]["documentChanges"]
        if really:
            (edit,) = change["edits"]
            client.change(change["textDocument"]["uri"], version, {"range": edit["range"], "text": edit["newText"]})
        return {"applied": True}

    client.handlers["workspace/applyEdit"] = handler


async def test_one_versioned_edit_through_the_protocol(start):
    client = await start()
    await client.initialize(EDITING)
    client.open("cart.py", "🙂 = 1\r\ntotal = 1\r\n", version=7)
    answer_edits(client, really=True, version=8)
    _, answer = client.run("edit cart.py")
    assert (await answer)["result"]["final_output"] == "edited"
    params = client.asked[0]["params"]
    (change,) = params["edit"]["documentChanges"]
    assert change["textDocument"]["version"] == 7
    assert change["edits"] == [
        {
            "range": {"start": {"line": 1, "character": 0}, "end": {"line": 2, "character": 0}},
            "newText": "subtotal = 1\r\n",
        }
    ]
    assert "changeAnnotations" not in params["edit"]


async def test_annotations_only_where_the_client_knows_them(start):
    client = await start()
    knows = {"documentChanges": True, "changeAnnotationSupport": {}}
    await client.initialize({"workspace": {"applyEdit": True, "workspaceEdit": knows}})
    client.open("cart.py", "total\n")
    answer_edits(client, really=True)
    _, answer = client.run("edit cart.py")
    assert (await answer)["result"]["final_output"] == "edited"
    assert client.asked[0]["params"]["edit"]["changeAnnotations"]["remit"]["needsConfirmation"] is False


async def test_a_client_that_only_says_applied(start):
    """THR-protocol-stale-version, over the wire: Neovim 0.7 answers like this when it skips an edit."""
    client = await start()
    await client.initialize(EDITING)
    client.open("cart.py", "total\n")
    answer_edits(client, really=False)
    _, answer = client.run("edit cart.py")
    said = "outcome_unknown: the editor said that it applied the edit, but its new text has not arrived yet"
    assert (await answer)["result"]["final_output"] == said
    assert len(client.asked) == 1


def messages(client):
    return [n["params"]["message"] for n in client.notifications if n["method"] == "window/showMessage"]


async def test_a_change_that_comes_after_the_turn_is_told(start):
    """A busy editor sends its change later (eglot: after half a second without typing, or later)."""
    client = await start()
    await client.initialize(EDITING)
    uri = client.open("cart.py", "total\n")
    answer_edits(client, really=False)
    _, answer = client.run("edit cart.py")
    assert (await answer)["result"]["final_output"].startswith("outcome_unknown: ")
    client.change(uri, 2, {"text": "subtotal\n"})
    await client.until(lambda: messages(client))
    assert messages(client) == [
        "Remit: `cart.py`: the edit has arrived after all: the buffer is changed, as you allowed, and not saved"
    ]


async def test_MOD_23_the_built_in_model_does_not_say_that_nothing_was_changed(start_real):
    client = await start_real(REMIT_MODEL="built-in")
    (client.root / "cart.py").write_text(BEFORE)
    client.handlers["window/showMessageRequest"] = lambda _: {"title": "Allow once"}
    await client.initialize(EDITING)
    uri = client.open("cart.py", BEFORE)
    answer_edits(client, really=False)
    asked = {"command": "remit.ask", "arguments": ["rename total to subtotal in cart.py"]}
    result = await client.result("workspace/executeCommand", asked)
    assert "workspace/applyEdit" in [request["method"] for request in client.asked]
    assert result["final_output"] == UNKNOWN
    client.change(uri, 2, {"text": AFTER})
    await client.until(lambda: len(messages(client)) == 2)
    assert SAYS.the_edit_has_arrived_after in messages(client)[1]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({"applied": False, "failureReason": "busy"}, "stale: the editor refused the edit: busy"),
        ({"applied": "perhaps"}, "outcome_unknown: the editor answered with an error"),
        (None, "outcome_unknown: the editor answered with an error"),
    ],
)
async def test_refusals_and_nonsense_are_no_success(start, answer, why):
    client = await start()
    await client.initialize(EDITING)
    client.open("cart.py", "total\n")
    client.handlers["workspace/applyEdit"] = lambda _: answer
    _, run = client.run("edit cart.py")
    assert (await run)["result"]["final_output"].startswith(why)


async def test_a_client_that_takes_no_edits_is_not_sent_any(start):
    client = await start()
    await client.initialize({})
    client.open("cart.py", "total\n")
    _, run = client.run("edit cart.py")
    said = (await run)["result"]["final_output"]
    assert SAYS.does_not_take_edits in said
    assert said.startswith("read_only: "), "no retry can work, so it is not `stale`"
    assert client.asked == []


async def test_changes_are_applied_in_order(start):
    client = await start()
    await client.initialize(EDITING)
    uri = client.open("cart.py", "🙂a\nb\n")
    zero, two = {"line": 0, "character": 0}, {"line": 0, "character": 2}
    client.change(uri, 2, {"range": {"start": zero, "end": two}, "text": "total "}, {"text": "total\n"})
    client.change(uri, 3, {"range": {"start": zero, "end": zero}, "text": "the "})
    answer_edits(client, really=True, version=4)
    _, answer = client.run("edit cart.py")
    assert (await answer)["result"]["final_output"] == "edited"
    (change,) = client.asked[0]["params"]["edit"]["documentChanges"]
    assert change["edits"][0]["newText"] == "the subtotal\n"


@pytest.mark.parametrize("really", [True, False])
async def test_a_client_that_knows_no_versions_gets_plain_changes_and_is_judged_by_its_text(start, really):
    client = await start()
    await client.initialize({"workspace": {"applyEdit": True, "workspaceEdit": {"changeAnnotationSupport": {}}}})
    uri = client.open("cart.py", "total\n")

    def apply(params):
        assert list(params["edit"]) == ["changes"]
        ((changed, (edit,)),) = params["edit"]["changes"].items()
        assert changed == uri
        if really:
            client.change(uri, 2, {"range": edit["range"], "text": edit["newText"]})
        return {"applied": True}

    client.handlers["workspace/applyEdit"] = apply
    _, answer = client.run("edit cart.py")
    said = (await answer)["result"]["final_output"]
    assert said == "edited" if really else said.startswith("outcome_unknown")


async def test_a_client_that_takes_operations_on_files_takes_versions_too(start):
    """LSP says so of `documentChanges`; Neovim announces only operations on files."""
    client = await start()
    await client.initialize(NEOVIM)
    client.open("cart.py", "total\n")
    answer_edits(client, really=True)
    _, answer = client.run("edit cart.py")
    assert (await answer)["result"]["final_output"] == "edited"
    (change,) = client.asked[0]["params"]["edit"]["documentChanges"]
    assert change["textDocument"]["version"] == 1
