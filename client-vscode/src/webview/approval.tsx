// The approval card: what exactly would happen, why it is asked, and the answers (editor.md, Approval card).
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ApprovalRequired, FileDiff, ReasonPayload, Scope } from '../contract';
import type { FromWebview } from '../messages';
import { added, commandLine, diffLines, remaining, removed, visible, visibleLine } from '../text';
import type { ApprovalItem } from '../view';

/** A card that has just appeared takes no "allow": the key or click may have been meant for what was there before. */
const ARMED_AFTER_MS = 500;

type Send = (message: FromWebview) => void;

export function Approval({ item, send }: { readonly item: ApprovalItem; readonly send: Send }) {
  return item.outcome ? <Outcome item={item} /> : <Card item={item} send={send} />;
}

function Card({ item, send }: { readonly item: ApprovalItem; readonly send: Send }) {
  const { question } = item;
  const card = useRef<HTMLDivElement>(null);
  const [armed, setArmed] = useState(false);
  useEffect(() => {
    if (document.hasFocus()) card.current?.focus();
    card.current?.scrollIntoView({ block: 'nearest' });
    const timer = setTimeout(() => setArmed(true), ARMED_AFTER_MS);
    return () => clearTimeout(timer);
  }, []);
  const answer = (decision: 'allow' | 'deny', scope: Scope): void =>
    send({ type: 'answer', approval_id: item.id, decision, scope });
  const busy = item.answer !== null;
  const allow = (scope: Scope): void => { if (armed && !busy) answer('allow', scope); };
  const titleId = `approval-${item.id}`;
  return (
    <div
      class={`card risk-${question.risk}`} ref={card} tabIndex={-1} role="alertdialog" aria-labelledby={titleId}
      data-testid="approval" data-approval={item.id}
      onKeyDown={(event) => {
        if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) { event.preventDefault(); allow('once'); }
      }}
    >
      <header>
        <span class="codicon codicon-shield" aria-hidden="true" />
        <h3 id={titleId}>{visibleLine(question.title)}</h3>
        <span class="risk" title={`Risk: ${question.risk}`}>{question.risk} risk</span>
      </header>
      <Reasons reasons={question.reasons} />
      <Command question={question} />
      {question.diffs.map((diff, index) => (
        <Diff key={diff.path} diff={diff} open={() => send({ type: 'open_diff', approval_id: item.id, index })} />
      ))}
      {item.refused && <p class="refused" role="alert">Not taken: {visible(item.refused)}</p>}
      <footer>
        <button type="button" class="primary" disabled={!armed || busy} onClick={() => allow('once')}>Allow once</button>
        {question.scopes.includes('session') && (
          <button type="button" class="secondary" disabled={!armed || busy} onClick={() => allow('session')}>
            Allow for session
          </button>
        )}
        <button type="button" class="secondary" disabled={busy} onClick={() => answer('deny', 'once')}>Deny</button>
        <Deadline deadline={question.deadline} />
      </footer>
    </div>
  );
}

function Reasons({ reasons }: { readonly reasons: readonly ReasonPayload[] }) {
  return (
    <ul class="reasons" aria-label="Why this is asked">
      {reasons.map((reason, index) => (
        <li key={index}>
          {visible(reason.reason)}
          {reason.rule && <> <code title={placeOf(reason)}>{visibleLine(reason.rule)}</code></>}
        </li>
      ))}
    </ul>
  );
}

function placeOf(reason: ReasonPayload): string {
  const place = reason.file ? `${reason.file}${reason.line ? `:${reason.line}` : ''}` : reason.layer;
  return `${reason.action}, ${visibleLine(place)}`;
}

function Command({ question }: { readonly question: ApprovalRequired }) {
  const text = question.command !== null ? visible(question.command) : question.argv && commandLine(question.argv);
  if (!text) return null;
  return (
    <div class="command">
      <pre tabIndex={0} aria-label="Command"><span class="prompt" aria-hidden="true">$ </span>{text}</pre>
      {question.argv && question.command !== null && (
        <details>
          <summary>As {question.argv.length} arguments</summary>
          <ol>{question.argv.map((each, index) => <li key={index}><code>{visibleLine(each)}</code></li>)}</ol>
        </details>
      )}
      {question.cwd !== null && <p class="cwd">in <code>{visibleLine(question.cwd)}</code></p>}
    </div>
  );
}

function Diff({ diff, open }: { readonly diff: FileDiff; readonly open: () => void }) {
  const lines = diffLines(diff.diff);
  return (
    <section class="diff" aria-label={`Change to ${visibleLine(diff.path)}`}>
      <header>
        <span class="path" title={visibleLine(diff.path)}>{visibleLine(diff.path)}</span>
        {diff.created && <span class="new">new</span>}
        <span class="plus" aria-label={`${added(lines)} lines added`}>+{added(lines)}</span>
        <span class="minus" aria-label={`${removed(lines)} lines removed`}>−{removed(lines)}</span>
        <button type="button" class="link" onClick={open}>Open diff</button>
      </header>
      <div class="lines" tabIndex={0} role="group" aria-label="Diff">
        <table>
          <tbody>
            {lines.map((line, index) => (
              <tr key={index} class={line.kind}>
                <td class="number" aria-hidden="true">{line.after ?? line.before ?? ''}</td>
                <td class="sign">{SIGNS[line.kind]}</td>
                <td class="text">{line.text || ' '}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

const SIGNS = { add: '+', remove: '−', same: '', hunk: '', meta: '' } as const;

/** Counts down for the eye only; a screen reader reads the time once. The server keeps the deadline. */
function Deadline({ deadline }: { readonly deadline: string }) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  const left = remaining(deadline, now);
  const at = new Date(deadline).toLocaleTimeString();
  return (
    <span class="deadline" title={`Denied without an answer by ${at}`}>
      <span class="codicon codicon-watch" aria-hidden="true" /> <span aria-hidden="true">{left ?? 'time is up'}</span>
      <span class="only-read">denied without an answer by {at}</span>
    </span>
  );
}

const WHO = {
  person: 'you',
  standing_answer: 'your earlier answer for this session',
  deadline: 'the deadline: nobody answered',
  disconnected: 'a lost connection',
  unavailable: 'nobody there to ask',
  cancelled: 'the turn ending',
} as const;

function Outcome({ item }: { readonly item: ApprovalItem }) {
  const { decision, scope, by } = item.outcome!;
  const allowed = decision === 'allow';
  return (
    <details class={`outcome ${decision}`} data-testid="outcome">
      <summary>
        <span class={`codicon codicon-${allowed ? 'pass-filled' : 'circle-slash'}`} aria-hidden="true" />
        <span class="said">
          <b>{allowed ? (scope === 'session' ? 'Allowed for this session' : 'Allowed once') : 'Denied'}</b> by {WHO[by]}
          <span class="muted"> · {visibleLine(item.question.title)}</span>
        </span>
      </summary>
      <Reasons reasons={item.question.reasons} />
      <Command question={item.question} />
      {item.question.diffs.map((diff) => <pre key={diff.path} class="old-diff" tabIndex={0}>{visible(diff.diff)}</pre>)}
    </details>
  );
}
