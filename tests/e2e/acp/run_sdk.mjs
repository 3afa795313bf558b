// Drives `remit acp` with the official client of the Agent Client Protocol, which validates messages with its own schema (TRN-10).
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { Readable, Writable } from "node:stream";
import assert from "node:assert/strict";
import * as acp from "@agentclientprotocol/sdk/unstable";

const workspace = process.env.REMIT_WORKSPACE;
const agent = spawn(process.env.REMIT_COMMAND, ["acp"], { stdio: ["pipe", "pipe", "inherit"] });
const updates = [];
const questions = [];
const text = (kind) =>
  updates
    .filter((each) => each.sessionUpdate === kind)
    .map((each) => each.content.text)
    .join("");

const app = acp
  .client({ name: "test" })
  .onNotification(acp.methods.client.session.update, ({ params }) => void updates.push(params.update))
  .onRequest(acp.methods.client.fs.readTextFile, ({ params }) => ({ content: readFileSync(params.path, "utf8") }))
  .onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
    questions.push(params);
    return { outcome: { outcome: "selected", optionId: params.options[0].optionId } };
  });

const { agent: methods } = acp.methods;
await app.connectWith(acp.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout)), async (ctx) => {
  const able = { fs: { readTextFile: true, writeTextFile: false } };
  const can = await ctx.request(methods.initialize, {
    protocolVersion: acp.PROTOCOL_VERSION,
    clientCapabilities: able,
  });
  assert.equal(can.protocolVersion, acp.PROTOCOL_VERSION);
  const { sessionId, configOptions, modes } = await ctx.request(methods.session.new, { cwd: workspace, mcpServers: [] });
  assert.deepEqual(
    configOptions.map((each) => each.id),
    ["mode", "model", "edits"],
  );
  assert.equal(modes.currentModeId, "explore");

  const ask = (words) => ctx.request(methods.session.prompt, { sessionId, prompt: [{ type: "text", text: words }] });
  assert.equal((await ask("rename total to subtotal in a.py")).stopReason, "end_turn");
  assert.equal(readFileSync(`${workspace}/a.py`, "utf8"), "subtotal = 1\n");
  assert.equal(questions.length, 1);
  assert.match(questions[0].toolCall.rawInput.digest, /^sha256:/);
  const call = updates.find((each) => each.sessionUpdate === "tool_call");
  const ended = updates.filter((each) => each.sessionUpdate === "tool_call_update").at(-1);
  assert.deepEqual([call.kind, ended.toolCallId, ended.status], ["edit", call.toolCallId, "completed"]);
  assert.equal(ended.content[0].newText, "subtotal = 1\n");

  const mode = { sessionId, configId: "mode", value: "strict" };
  const chosen = await ctx.request(methods.session.setConfigOption, mode);
  assert.equal(chosen.configOptions[0].currentValue, "strict");
  await ctx.request(methods.session.setMode, { sessionId, modeId: "explore" });

  const listed = await ctx.request(methods.session.list, { cwd: workspace });
  assert.deepEqual(
    listed.sessions.map((each) => each.sessionId),
    [sessionId],
  );
  updates.length = 0;
  await ctx.request(methods.session.load, { sessionId, cwd: workspace, mcpServers: [] });
  assert.equal(text("user_message_chunk"), "rename total to subtotal in a.py");
  const copy = await ctx.request(methods.session.fork, { sessionId, cwd: workspace, mcpServers: [] });
  assert.notEqual(copy.sessionId, sessionId);
  await ctx.request(methods.session.resume, { sessionId, cwd: workspace, mcpServers: [] });
  await ctx.request(methods.session.close, { sessionId });
  await ctx.request(methods.session.delete, { sessionId });
  await assert.rejects(ask("hello"), (error) => error.code === -32002);
  await assert.rejects(ctx.request("session/nonsense", {}), (error) => error.code === -32601);
});
agent.stdin.end();
const code = await new Promise((resolve) => agent.on("exit", resolve));
assert.equal(code, 0);
