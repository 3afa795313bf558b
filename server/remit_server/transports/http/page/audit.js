// The audit log: the last calls of all agents, filtered, and why each was decided as it was.
import { aboutCall, add, agentOf, at, decided, get, when } from './common.js';

const open = new Map();

function showCall(parent, record) {
  const row = add(parent, 'tr');
  row.dataset.testid = 'call';
  add(row, 'td', '', String(record.number));
  add(row, 'td', '', when(record.time));
  add(row, 'td', '', agentOf(record));
  const what = add(row, 'td', '', aboutCall(record));
  if (record.deny_reason) add(what, 'small', '', record.deny_reason);
  else if (record.came_to) add(what, 'small', record.failed ? 'failed' : '', record.came_to.slice(0, 200));
  add(row, 'td', record.policy_decision ?? '', decided(record));
  add(row, 'td', '', record.policy_rule_name ?? '-');
  const why = add(add(row, 'td'), 'button', '', 'Why?');
  why.setAttribute('aria-label', `Why was call ${record.number} decided so?`);
  why.setAttribute('aria-expanded', String(open.has(record.number)));
  const tell = (told) => {
    const cell = add(add(parent, 'tr'), 'td');
    cell.colSpan = 7;
    add(cell, 'pre', '', told).dataset.testid = 'why';
    row.after(cell.parentElement);
  };
  if (open.has(record.number)) tell(open.get(record.number));
  why.addEventListener('click', async () => {
    if (open.delete(record.number)) row.nextElementSibling.remove();
    else {
      const told = await get(`/v1/audit/${record.number}`).then((each) => each.told.join('\n'), (error) => error.message);
      open.set(record.number, told);
      tell(told);
    }
    why.setAttribute('aria-expanded', String(open.has(record.number)));
  });
}

export async function refresh() {
  const query = new URLSearchParams({ limit: '200' });
  if (at('decision').value) query.set('decision', at('decision').value);
  if (at('whose').value) query.set('session', at('whose').value);
  try {
    const [found, sessions] = [await get(`/v1/audit?${query}`), await get('/v1/agents')];
    const rows = document.createDocumentFragment();
    for (const record of found) showCall(rows, record);
    at('calls').replaceChildren(rows);
    offer(sessions);
    at('audit-said').textContent = found.length ? `calls: ${found.length}, the last one first` : 'no such call is recorded';
  } catch (error) {
    at('audit-said').textContent = error.message;
  }
}

function offer(sessions) {
  const chosen = at('whose').value;
  const options = document.createDocumentFragment();
  add(options, 'option', '', 'every session').value = '';
  for (const each of sessions) add(options, 'option', '', `${each.agent}: ${each.title || each.session_id}`.slice(0, 80)).value = each.session_id;
  at('whose').replaceChildren(options);
  at('whose').value = sessions.some((each) => each.session_id === chosen) ? chosen : '';
}

export function start() {
  at('filter').addEventListener('submit', (event) => {
    event.preventDefault();
    void refresh();
  });
  at('decision').addEventListener('change', () => void refresh());
  at('whose').addEventListener('change', () => void refresh());
}
