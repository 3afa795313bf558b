// What all views of the page share: how they ask the server, and how they show what it says.
// The token came behind `#` in the address, which no browser sends.
const given = location.hash.slice(1);
if (given) {
  sessionStorage.setItem('token', given);
  history.replaceState(null, '', location.pathname);
}
export const token = sessionStorage.getItem('token') ?? '';
export const at = (id) => document.getElementById(id);

/** Everything that is shown is text: nothing of a file, a model, an agent or a command is ever markup. */
export function add(parent, tag, kind, text) {
  const made = document.createElement(tag);
  if (kind) made.className = kind;
  if (text !== undefined) made.textContent = text;
  parent.append(made);
  return made;
}

export async function call(method, path, body) {
  const headers = { Authorization: `Bearer ${token}`, ...(body && { 'Content-Type': 'application/json' }) };
  const answer = await fetch(path, { method, headers, body: body && JSON.stringify(body) });
  if (answer.ok) return answer;
  const { error } = await answer.json().catch(() => ({ error: { message: `the server answered ${answer.status}`, fix: 'look at its terminal' } }));
  throw new Error(`${error.message}; ${error.fix}`);
}

export const get = async (path) => (await call('GET', path)).json();
export const when = (text) => new Date(text).toLocaleString();

/** A diff, line by line. */
export function showDiff(parent, diff) {
  const shown = add(parent, 'pre');
  for (const line of diff.trimEnd().split('\n')) {
    add(shown, 'span', line.startsWith('+') ? 'added' : line.startsWith('-') ? 'removed' : '', `${line}\n`);
  }
}

const WORDS = { allowed: 'allowed', allowed_by_token: 'allowed', review_required: 'asked about', denied: 'denied', refused: 'refused' };
const BY = { person: 'you', standing_answer: 'an answer you gave before', beforehand: 'an answer from the command line', unavailable: 'default, as nobody could be asked', deadline: 'default, as nobody answered in time' };
/** What policy said of a call; of one that was to be asked about, what became of that as far as the log says. */
export function decided(record) {
  const word = WORDS[record.policy_decision] ?? record.policy_decision ?? '-';
  if (record.denied_by) return `${word}: denied by ${BY[record.denied_by] ?? record.denied_by}`;
  if (record.policy_decision !== 'review_required') return word;
  if (record.metadata?.told === 'deny') return 'asked about: denied, its agent cannot ask';
  if (record.came_to === undefined) return word;
  return record.metadata?.told === 'ask' ? 'asked about: allowed there' : word;
}
export const agentOf = (record) => record.metadata?.agent ?? 'remit';
export const aboutCall = (record) => `${record.tool_name ?? '-'} ${record.input_summary ?? ''}`.slice(0, 400);
