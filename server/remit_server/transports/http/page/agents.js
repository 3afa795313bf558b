// The sessions of all agents in this folder, as many side by side as are chosen; at first the last one of each agent.
import { aboutCall, add, agentOf, at, decided, get, when } from './common.js';

const AT_FIRST = 4;
const SHOWN = 40;
const chosen = new Map();

function choose(sessions) {
  const agents = new Set();
  for (const { session_id: id, agent } of sessions) {
    if (!chosen.has(id)) chosen.set(id, !agents.has(agent) && agents.size < AT_FIRST && chosen.size < AT_FIRST + agents.size);
    agents.add(agent);
  }
  const focused = document.activeElement?.value;
  const boxes = document.createDocumentFragment();
  for (const each of sessions) {
    const label = add(boxes, 'label');
    const box = add(label, 'input');
    Object.assign(box, { type: 'checkbox', value: each.session_id, checked: chosen.get(each.session_id) });
    box.addEventListener('change', () => {
      chosen.set(each.session_id, box.checked);
      void refresh();
    });
    label.append(` ${each.agent}: ${each.title || each.session_id} (calls: ${each.calls}, asked about: ${each.asked}, denied: ${each.denied})`);
  }
  at('choose').replaceChildren(at('choose').querySelector('legend'), boxes);
  for (const box of at('choose').querySelectorAll('input')) if (focused && box.value === focused) box.focus();
}

function showSession(parent, session, calls) {
  const column = add(parent, 'div');
  column.dataset.testid = 'column';
  column.setAttribute('role', 'group');
  column.setAttribute('aria-label', `${session.agent}: ${session.title || session.session_id}`);
  add(column, 'h2', '', session.agent);
  add(column, 'div', '', session.title || session.session_id);
  add(column, 'small', '', `${session.ended ? 'ended' : 'last active'} ${when(session.last)}`);
  const list = add(column, 'ol');
  for (const record of calls) {
    const item = add(list, 'li');
    add(item, 'span', record.policy_decision ?? '', decided(record));
    item.append(` ${aboutCall(record)}`);
    add(item, 'small', '', record.policy_rule_name ?? '');
  }
  if (!calls.length) add(column, 'p', 'step', 'no call is recorded');
}

export async function refresh() {
  try {
    const sessions = await get('/v1/agents');
    choose(sessions);
    const shown = document.createDocumentFragment();
    for (const session of sessions.filter((each) => chosen.get(each.session_id))) {
      const query = new URLSearchParams({ session: session.session_id, limit: String(SHOWN) });
      const calls = await get(`/v1/audit?${query}`);
      showSession(shown, session, calls.filter((record) => agentOf(record) === session.agent));
    }
    at('side-by-side').replaceChildren(shown);
    at('agents-said').textContent = sessions.length ? '' : 'no agent has done anything here yet';
  } catch (error) {
    at('agents-said').textContent = error.message;
  }
}
