// A question to the person: what it is about, hunk by hunk where it can be taken so, and the answer.
import { add, call, get, showDiff } from './common.js';

/** Shows a question; returns what is to be called with how it ended. */
export async function showQuestion(parent, asked, hunks) {
  const card = add(parent, 'div', 'question');
  card.dataset.testid = 'question';
  card.setAttribute('role', 'group');
  card.setAttribute('aria-label', `Question: ${asked.title}`);
  add(card, 'div', 'asked', asked.title);
  for (const reason of asked.reasons) add(card, 'div', 'step', reason.reason);
  if (asked.command) add(card, 'pre', '', asked.command);
  const parts = asked.by_hunk ? (hunks ?? await hunksOf(asked)).map((hunk) => showHunk(card, hunk)) : [];
  if (!parts.length) for (const diff of asked.diffs) showDiff(card, diff.diff);
  const allow = add(card, 'button', '', 'Allow once');
  const deny = add(card, 'button', '', 'Deny');
  const refresh = () => {
    const taken = parts.filter((part) => part.box.checked).length;
    allow.textContent = taken === parts.length ? 'Allow once' : `Allow ${taken} of ${parts.length} hunks`;
    allow.disabled = parts.length > 0 && taken === 0;
  };
  parts.forEach((part) => part.box.addEventListener('change', refresh));
  const answer = async (decision, left_out) => {
    try {
      const body = { decision, digest: asked.digest, left_out };
      const receipt = await (await call('POST', `/v1/approvals/${encodeURIComponent(asked.approval_id)}`, body)).json();
      if (!receipt.accepted) add(card, 'div', 'failed', receipt.reason);
    } catch (error) {
      add(card, 'div', 'failed', error.message);
    }
  };
  allow.addEventListener('click', () => answer('allow', parts.filter((part) => !part.box.checked).map((part) => part.leftOut())));
  deny.addEventListener('click', () => answer('deny', []));
  let ended = false;
  return (told) => {
    if (ended) return;
    ended = true;
    for (const control of card.querySelectorAll('button, input')) control.disabled = true;
    allow.remove();
    deny.remove();
    card.classList.add('answered');
    add(card, 'div', 'step', told);
  };
}

/** What the person answered, in words. */
export function toldAnswer({ decision, by }) {
  return `${decision === 'allow' ? 'Allowed' : 'Denied'} by ${by === 'person' ? 'you' : by}.`;
}

async function hunksOf(asked) {
  const waiting = await get('/v1/approvals').catch(() => []);
  return waiting.find((each) => each.question.approval_id === asked.approval_id)?.hunks ?? [];
}

function showHunk(card, hunk) {
  const shown = add(card, 'fieldset', 'hunk');
  shown.dataset.testid = 'hunk';
  const label = add(shown, 'label');
  const box = add(label, 'input');
  box.type = 'checkbox';
  box.checked = true;
  label.append(hunk.line === null ? ` take ${hunk.path}` : ` take ${hunk.path}, line ${hunk.line + 1}`);
  showDiff(shown, hunk.text);
  const why = add(shown, 'label', 'step', 'Why not? The model reads it. ');
  const comment = add(why, 'input');
  comment.type = 'text';
  comment.maxLength = 2000;
  why.hidden = true;
  box.addEventListener('change', () => {
    why.hidden = box.checked;
    shown.classList.toggle('left', !box.checked);
  });
  return { box, leftOut: () => ({ path: hunk.path, hunk: hunk.hunk, ...(comment.value.trim() && { comment: comment.value.trim() }) }) };
}
