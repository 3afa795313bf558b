// A plugin in TypeScript, without an SDK: it starts git, and answers with what that says.
import net from "node:net";
import process from "node:process";

type Message = Record<string, unknown>;
type Answer = { result: { output: unknown } } | { error: { code: string; message: string } };

async function git(...words: string[]): Promise<Answer> {
  const done = await new Deno.Command("git", { args: words }).output();
  const [out, said] = [done.stdout, done.stderr].map((bytes) => new TextDecoder().decode(bytes));
  return done.success ? { result: { output: out } } : { error: { code: "git", message: said.slice(0, 4000) } };
}

const TOOLS: Record<string, () => Promise<Answer>> = {
  "git.diff": () => git("diff", "--no-ext-diff", "HEAD"),
};

const wire = new net.Socket({ fd: Number(process.env.PLUGIN_SOCKET), readable: true, writable: true });

function send(message: Message): void {
  const body = new TextEncoder().encode(JSON.stringify(message));
  const frame = new Uint8Array(4 + body.length);
  new DataView(frame.buffer).setUint32(0, body.length);
  frame.set(body, 4);
  wire.write(frame);
}

async function answer(message: Message): Promise<void> {
  if (message.type !== "request") return;
  const tool = TOOLS[(message.params as { tool: string }).tool];
  const said = tool ? await tool() : { error: { code: "unknown_tool", message: "there is no such tool" } };
  send({ type: "response", id: message.id, ...said });
}

let held = new Uint8Array();
wire.on("data", (chunk: Uint8Array) => {
  held = new Uint8Array([...held, ...chunk]);
  while (held.length >= 4 && held.length >= 4 + new DataView(held.buffer).getUint32(0)) {
    const end = 4 + new DataView(held.buffer).getUint32(0);
    const message = JSON.parse(new TextDecoder().decode(held.slice(4, end)));
    held = held.slice(end);
    answer(message);
  }
});
wire.on("end", () => process.exit(0));
send({
  type: "handshake",
  plugin_name: "git-tool",
  plugin_version: "1.0.0",
  syscall_api_version: 1,
  token: process.env.PLUGIN_TOKEN,
});
