// The approval card: what exactly would happen, why the person is asked, and the answers (editor.md, Approval card).
import { useEffect, useRef, useState } from 'preact/hooks';
import type { FromWebview } from '../chat/messages';
import { outcomeWords } from '../chat/outcome';
import { count, type ApprovalItem } from '../chat/view';
import { commented, partCount, toggled, type LeftOutParts, type Part } from '../chat/parts';
import type { ApprovalRequired, ReasonPayload, Scope } from '../contract';
import { sentence } from '../problem';
import { commandLine, remaining, visible, visibleLine } from '../text';
import { say } from '../words';
import { Diff } from './diff';
import type { ItemRow } from './rows';
import { useSeen } from './seen';
import { StandingAnswers } from './standing';

/** A new card accepts no "allow" for this long, because the key or click may have been meant for what was shown before. */
const ARMED_AFTER_MS = 500;
const ENTER = /Mac/.test(globalThis.navigator?.platform ?? '') ? '⌘Enter' : 'Ctrl+Enter';

/** The lines of a command that are visible without scrolling. */
const LINES_IN_SIGHT = 9;

type Send = (message: FromWebview) => void;

/** Shows the first waiting question as a card, and the others as one line each with their place in the queue. */
export function Question({ item, row, send }: { readonly item: ApprovalItem; readonly row: ItemRow; readonly send: Send }) {
  const { place, waiting } = row;
  if (place <= 1) return <Approval item={item} waiting={waiting} send={send} />;
  return (
    <p class="queued" data-testid="queued">
      <span class="codicon codicon-bell" aria-hidden="true" /> {say('Question {0} of {1}: {2}', place, waiting, visibleLine(item.question.title))}
    </p>
  );
}

interface ApprovalProps {
  readonly item: ApprovalItem;
  /** How many questions wait, including this one. */
  readonly waiting: number;
  readonly send: Send;
}

function Approval({ item, waiting, send }: ApprovalProps) {
  const { question } = item;
  const card = useRef<HTMLDivElement>(null);
  const armed = useArmed(card);
  const seen = useSeen(card, item.read);
  const busy = item.answer !== null;
  const parts = item.left_out;
  const [comment, setComment] = useState('');
  const shown = partCount(question.diffs);
  const taken = shown - parts.length;
  const ready = armed && seen.toEnd && !busy;
  const nothing = parts.length > 0 && taken === 0;
  const answer = (decision: 'allow' | 'deny', scope: Scope): void => {
    if (busy) return;
    send({ type: 'answer', approval_id: item.id, choice: { decision, scope, comment: comment.trim() || null } });
  };
  const allow = (scope: Scope): void => {
    if (ready && !nothing && (scope === 'once' || parts.length === 0)) answer('allow', scope);
  };
  const leaveOut = (left_out: LeftOutParts): void => send({ type: 'leave_out', approval_id: item.id, left_out });
  const choosing = question.by_hunk && !busy ? {
    toggle: (part: Part): void => leaveOut(toggled(parts, part)),
    comment: (part: Part, words: string): void => leaveOut(commented(parts, part, words)),
  } : null;
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) { event.preventDefault(); allow('once'); }
    if (event.key === 'Escape') { event.stopPropagation(); if (!steppedBack(event.target, card.current)) answer('deny', 'once'); }
  };
  const id = (part: string): string => `${part}-${item.id}`;
  return (
    <div
      class={`card risk-${question.risk}${seen.whole ? ' whole' : ''}`} ref={card} tabIndex={-1} role="alertdialog" aria-labelledby={id('title')}
      aria-describedby={`${id('reasons')} ${id('command')}`} data-testid="approval" data-approval={item.id} onKeyDown={onKeyDown}
    >
      <header>
        <span class="codicon codicon-shield" aria-hidden="true" />
        <h3 id={id('title')}>{titleOf(question)}</h3>
        {waiting > 1 && <span class="queue" data-testid="queue">{say('{0} of {1}', 1, waiting)}</span>}
        {question.step_calls > 1 && (
          <span class="queue" data-testid="step-call" title={say('This step makes {0} calls; each may ask you', question.step_calls)}>
            {say('Call {0} of {1}', question.step_call, question.step_calls)}
          </span>
        )}
        <span class="risk" title={say('Risk: {0}', RISKS[question.risk]())}>{say('{0} risk', RISKS[question.risk]())}</span>
      </header>
      {question.session_name !== null && <p class="session-rule">{say('In the session: {0}', visibleLine(question.session_name))}</p>}
      {question.asked_by !== null && <p class="session-rule" data-testid="asked-by">{say('Asked by a sub-agent: {0}', visibleLine(question.asked_by))}</p>}
      <div id={id('reasons')}><Reasons reasons={question.reasons} /></div>
      <div id={id('command')}><Command question={question} /></div>
      {question.diffs.map((diff, index) => (
        <Diff key={diff.path} diff={diff} parts={parts} choosing={choosing} open={() => send({ type: 'open_diff', approval_id: item.id, index })} />
      ))}
      {item.refused && <p class="refused" role="alert">{say('Not accepted: {0}', visible(item.refused))}</p>}
      <footer>
        {!seen.toEnd && (
          <p class="unseen" role="status">
            {say('Scroll to the end to enable Allow.')} <button type="button" class="link" onClick={seen.showAll}>{say('Show all of it')}</button>
          </p>
        )}
        <input
          type="text" class="why" value={comment} maxLength={2_000} aria-label={say('Your comment for the model')}
          placeholder={say('Tell the model why')} onInput={(event) => setComment(event.currentTarget.value)}
        />
        <div class="answers">
          <button type="button" class="primary" disabled={!ready || nothing} onClick={() => allow('once')}>
            {parts.length === 0 ? say('Allow once') : say('Allow {0} of {1} once', taken, shown)}
          </button>
          {question.scopes.includes('edits') && parts.length === 0 && (
            <button type="button" class="secondary" disabled={!ready} title={question.edits_rule ?? ''} onClick={() => allow('edits')}>
              {say('Allow all edits this session')}
            </button>
          )}
          <button type="button" class="secondary" disabled={busy} onClick={() => answer('deny', 'once')}>{say('Deny')}</button>
        </div>
        <StandingAnswers question={question} disabled={!ready || parts.length > 0} allow={allow} />
        <div class="small"><Deadline deadline={question.deadline} /><span class="keys">{say('{0} allows once, Esc denies', ENTER)}</span></div>
      </footer>
    </div>
  );
}

/** Handles an Escape inside an open fold (closes it) or a text input (leaves it); returns false for any other Escape. */
function steppedBack(target: EventTarget | null, card: HTMLElement | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  const fold = target.closest<HTMLDetailsElement>('details[open]');
  if (fold) { fold.open = false; fold.querySelector('summary')?.focus(); }
  else if (target instanceof HTMLInputElement) card?.focus();
  else return false;
  return true;
}

/** Scrolls to the card and focuses it if the webview has the focus; returns true once the card may be allowed. */
function useArmed(card: { readonly current: HTMLDivElement | null }): boolean {
  const [armed, setArmed] = useState(false);
  useEffect(() => {
    if (document.hasFocus()) card.current?.focus();
    card.current?.scrollIntoView({ block: 'nearest' });
    const timer = setTimeout(() => setArmed(true), ARMED_AFTER_MS);
    return () => clearTimeout(timer);
  }, []);
  return armed;
}

/** The title of the card. It does not repeat the command, which is shown below, where there is more space. */
function titleOf(question: ApprovalRequired): string {
  if (question.command !== null || question.argv !== null) return say('Run a command');
  const title = sentence(visibleLine(question.title));
  return question.diffs.length > 1 ? `${title} (${count(question.diffs.length, 'file')})` : title;
}

/** The reasons to ask. Reasons of rules that allow the call are left out, because they are no reason to ask. */
function Reasons({ reasons }: { readonly reasons: readonly ReasonPayload[] }) {
  const asking = reasons.filter((reason) => reason.action !== 'allow');
  return (
    <ul class="reasons" aria-label={say('Why this is asked')}>
      {(asking.length > 0 ? asking : reasons).map((reason, index) => (
        <li key={index}>{sentence(visible(reason.reason))}</li>
      ))}
    </ul>
  );
}

function Command({ question }: { readonly question: ApprovalRequired }) {
  const text = question.command !== null ? visible(question.command) : question.argv && commandLine(question.argv);
  if (!text) return null;
  const lines = text.split('\n').length;
  return (
    <div class="command">
      <pre tabIndex={0} role="group" aria-label={say('Command')}><span class="prompt" aria-hidden="true">$ </span>{text}</pre>
      {lines > LINES_IN_SIGHT && <p class="cwd" data-testid="length">{say('{0}: scroll to read them all', count(lines, 'line'))}</p>}
      {question.cwd !== null && <p class="cwd">{say('in')} <code>{visibleLine(question.cwd)}</code></p>}
      {question.hosts.length > 0
        ? <p class="cwd">{say('in the sandbox, with network to')} <code>{visibleLine(question.hosts.join(', '))}</code></p>
        : <p class="cwd">{say('in the sandbox, no network')}</p>}
      {question.near !== null && <p class="cwd">{say('reaches the process in the background:')} <code>{visibleLine(question.near)}</code></p>}
      {question.argv && question.command !== null && (
        <details>
          <summary>{say('Show the {0} arguments', question.argv.length)}</summary>
          <ol>{question.argv.map((each, index) => <li key={index}><code>{visibleLine(each)}</code></li>)}</ol>
        </details>
      )}
    </div>
  );
}

/** The remaining time. The countdown is only for the eye; a screen reader reads the deadline once. The server enforces it. */
function Deadline({ deadline }: { readonly deadline: string }) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  const left = remaining(deadline, now);
  const at = new Date(deadline).toLocaleTimeString();
  return (
    <span>
      <span aria-hidden="true">{left === null ? say('The time to answer has run out') : say('Denied in {0} if you do not answer', left)}</span>
      <span class="only-read">{say('Denied at {0} if you do not answer', at)}</span>
    </span>
  );
}

const RISKS = { low: () => say('low'), medium: () => say('medium'), high: () => say('high') } as const;

/** The content of an answered question, to look at again. */
export function Asked({ item }: { readonly item: ApprovalItem }) {
  return (
    <div class="was-asked">
      <Reasons reasons={item.question.reasons} />
      <Command question={item.question} />
      {item.question.diffs.map((diff) => <Diff key={diff.path} diff={diff} parts={item.left_out} choosing={null} open={null} />)}
    </div>
  );
}

/** An answered question that belongs to no call in the list. */
export function Outcome({ item }: { readonly item: ApprovalItem }) {
  const allowed = item.outcome?.decision === 'allow';
  return (
    <details class={`outcome ${allowed ? 'allow' : 'deny'}`}>
      <summary>
        <span class={`codicon codicon-${allowed ? 'pass-filled' : 'circle-slash'}`} aria-hidden="true" />
        <span class="said">
          <b data-testid="outcome">{item.outcome && outcomeWords(item.outcome)}</b>
          <span class="muted"> · {visibleLine(item.question.title)}</span>
        </span>
      </summary>
      <Asked item={item} />
    </details>
  );
}
