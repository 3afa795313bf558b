// The built-in page: asks, shows what happens, and takes answers. The token came behind `#` in the address, which no browser sends.
const given = location.hash.slice(1);
if (given) {
  sessionStorage.setItem('token', given);
  history.replaceState(null, '', location.pathname);
}
const token = sessionStorage.getItem('token') ?? '';
const session = crypto.randomUUID();
const at = (id) => document.getElementById(id);
let running = null;

/** Everything that is shown is text: nothing of a file, a model or a command is ever markup. */
function add(parent, tag, kind, text) {
  const made = document.createElement(tag);
  if (kind) made.className = kind;
  if (text !== undefined) made.textContent = text;
  parent.append(made);
  return made;
}

async function call(method, path, body) {
  const headers = { Authorization: `Bearer ${token}`, ...(body && { 'Content-Type': 'application/json' }) };
  const answer = await fetch(path, { method, headers, body: body && JSON.stringify(body) });
  if (answer.ok) return answer;
  const { error } = await answer.json().catch(() => ({ error: { message: `the server answered ${answer.status}`, fix: 'look at its terminal' } }));
  throw new Error(`${error.message}; ${error.fix}`);
}

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

function showDiff(parent, diff) {
  const shown = add(parent, 'pre');
  for (const line of diff.diff.split('\n')) {
    add(shown, 'span', line.startsWith('+') ? 'added' : line.startsWith('-') ? 'removed' : '', `${line}\n`);
  }
}

function showQuestion(parent, asked) {
  const card = add(parent, 'section', 'question');
  card.dataset.testid = 'question';
  add(card, 'div', 'asked', asked.title);
  for (const reason of asked.reasons) add(card, 'div', 'step', reason.reason);
  if (asked.command) add(card, 'pre', '', asked.command);
  for (const diff of asked.diffs) showDiff(card, diff);
  const buttons = [['Allow once', 'allow'], ['Deny', 'deny']].map(([label, decision]) => {
    const button = add(card, 'button', '', label);
    button.addEventListener('click', async () => {
      const receipt = await (await call('POST', `/v1/approvals/${asked.approval_id}`, { decision, digest: asked.digest })).json();
      if (!receipt.accepted) add(card, 'div', 'failed', receipt.reason);
    });
    return button;
  });
  return (answer) => {
    buttons.forEach((button) => button.remove());
    card.classList.add('answered');
    const by = answer.by === 'person' ? 'you' : answer.by;
    add(card, 'div', 'step', answer.decision === 'allow' ? `Allowed by ${by}.` : `Denied by ${by}.`);
  };
}

async function ask(text) {
  const turn = crypto.randomUUID();
  const shown = add(at('turns'), 'li');
  add(shown, 'div', 'asked', text);
  const questions = new Map();
  let said = null;
  running = turn;
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
      if (event === 'approval_required') questions.set(data.approval_id, showQuestion(shown, data));
      if (event === 'approval_resolved') questions.get(data.approval_id)?.(data);
      if (event === 'tool_result') add(shown, 'div', data.ok ? 'step' : 'step failed', `${data.ok ? '✓' : '✗'} ${data.summary}`);
      if (event === 'warning') add(shown, 'div', 'step failed', data.message);
      if (event === 'refused') throw new Error(`${data.message}; ${data.fix}`);
      if (event === 'result') {
        const changed = data.changes.map((each) => `${each.path} +${each.added ?? '?'} −${each.removed ?? '?'}`).join(', ');
        add(shown, 'div', 'step', [data.status, data.reason, changed && `changed ${changed}`].filter(Boolean).join(' · ')).dataset.testid = 'ended';
      }
      shown.scrollIntoView({ block: 'end' });
    }
  } catch (error) {
    add(shown, 'div', 'failed', error.message);
  } finally {
    running = null;
    at('stop').disabled = true;
    await refresh();
  }
}

async function refresh() {
  try {
    const status = await (await call('GET', '/v1/status')).json();
    at('status').textContent = `${status.model} · ${status.workspace} · ${status.sandbox}`;
    const list = at('sessions');
    list.replaceChildren();
    for (const each of await (await call('GET', '/v1/sessions')).json()) {
      const item = add(list, 'li', '', each.name || each.title || each.session_id);
      add(item, 'small', '', new Date(each.last_used).toLocaleString());
    }
  } catch (error) {
    at('status').textContent = token ? error.message : 'This page has no token: open the address that `remit http` prints.';
  }
}

at('ask').addEventListener('submit', (event) => {
  event.preventDefault();
  const text = at('text').value.trim();
  if (!text || running) return;
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
await refresh();
at('text').focus();
