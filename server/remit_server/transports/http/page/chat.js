// The chat: asks, shows what happens, and takes answers, to questions of other clients' turns too.
import { add, at, call, get, token, when } from './common.js';
import { showQuestion, toldAnswer } from './questions.js';

const session = crypto.randomUUID();
const known = new Set();
const elsewhere = new Map();
let running = null;

/** Yields `{event, data}` of a stream of server-sent events. */
async function* eventsOf(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    rest += value.replaceAll('\r\n', '\n');
    for (let end = rest.indexOf('\n\n'); end >= 0; end = rest.indexOf('\n\n')) {
      const lines = rest.slice(0, end).split('\n');
      rest = rest.slice(end + 2);
      const of = (name) => lines.filter((line) => line.startsWith(`${name}:`)).map((line) => line.slice(name.length + 1).trimStart()).join('\n');
      if (of('data')) yield { event: of('event'), data: JSON.parse(of('data')) };
    }
  }
}

async function ask(text) {
  const turn = crypto.randomUUID();
  const shown = add(at('turns'), 'li');
  add(shown, 'div', 'asked', text);
  const questions = new Map();
  let said = null;
  let ended = null;
  running = turn;
  at('answered').textContent = '';
  at('stop').disabled = false;
  try {
    const request = { session_id: session, turn_id: turn, input: { type: 'text', text } };
    for await (const { event, data } of eventsOf(await call('POST', '/v1/runs', request))) {
      if (event === 'token_delta') {
        said ??= add(shown, 'div', 'said', '');
        said.textContent += data.text;
      } else if (event !== 'usage') said = null;
      if (event === 'intent_selected') add(shown, 'div', 'step', `intent ${data.intent}`);
      if (event === 'tool_call') add(shown, 'div', 'step', `→ ${data.tool} ${JSON.stringify(data.arguments).slice(0, 300)}`);
      if (event === 'approval_required') {
        known.add(data.approval_id);
        questions.set(data.approval_id, await showQuestion(shown, data));
      }
      if (event === 'approval_resolved') questions.get(data.approval_id)?.(toldAnswer(data));
      if (event === 'tool_result') add(shown, 'div', data.ok ? 'step' : 'step failed', `${data.ok ? '✓' : '✗'} ${data.summary}`);
      if (event === 'warning') add(shown, 'div', 'step failed', data.message);
      if (event === 'refused') throw new Error(`${data.message}; ${data.fix}`);
      if (event === 'result') ended = data;
      shown.scrollIntoView({ block: 'end' });
    }
  } catch (error) {
    add(shown, 'div', 'failed', error.message);
  } finally {
    running = null;
    at('stop').disabled = true;
    // It is shown when the next request is taken, not earlier.
    if (ended) showEnd(shown, ended);
    await refresh();
  }
}

function showEnd(shown, { status, reason, changes }) {
  const changed = changes.map((each) => `${each.path} +${each.added ?? '?'} −${each.removed ?? '?'}`).join(', ');
  const line = add(shown, 'div', 'step', [status, reason, changed && `changed ${changed}`].filter(Boolean).join(' · '));
  line.dataset.testid = 'ended';
  shown.scrollIntoView({ block: 'end' });
}

/** Questions of turns that this page did not begin: another client's, or its own before it was loaded anew. */
async function showElsewhere() {
  const waiting = await get('/v1/approvals');
  const ids = new Set(waiting.map((each) => each.question.approval_id));
  for (const [id, { card, title }] of elsewhere) {
    if (ids.has(id)) continue;
    card.remove();
    elsewhere.delete(id);
    at('answered').textContent = `No longer waiting: ${title}`;
  }
  for (const { question, hunks } of waiting) {
    if (known.has(question.approval_id) || question.session_id === session) continue;
    known.add(question.approval_id);
    await showQuestion(at('waiting'), question, hunks);
    elsewhere.set(question.approval_id, { card: at('waiting').lastElementChild, title: question.title });
  }
}

export async function refresh() {
  try {
    const status = await get('/v1/status');
    at('status').textContent = `${status.model} · ${status.workspace} · ${status.sandbox}`;
    const list = document.createDocumentFragment();
    for (const each of await get('/v1/sessions')) {
      const item = add(list, 'li', '', each.name || each.title || each.session_id);
      add(item, 'small', '', when(each.last_used));
    }
    at('sessions').replaceChildren(list);
    await showElsewhere();
  } catch (error) {
    at('status').textContent = token ? error.message : 'This page has no token: open the address that `remit http` prints.';
  }
}

export function start() {
  at('ask').addEventListener('submit', (event) => {
    event.preventDefault();
    const text = at('text').value.trim();
    if (!text) return;
    if (running) {
      at('answered').textContent = 'Your last request still runs. Wait until it ends, or press Stop; your text stays here.';
      return;
    }
    at('text').value = '';
    void ask(text);
  });
  at('text').addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      at('ask').requestSubmit();
    }
  });
  at('stop').addEventListener('click', () => running && call('DELETE', `/v1/runs/${session}/${running}`));
}
