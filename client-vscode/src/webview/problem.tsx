// Problems as a person reads them: what happened, why, how to fix it, and buttons that help.
import type { FromWebview } from '../chat/messages';
import { REMEDIES, remediesFor, sentence, type Problem } from '../problem';
import { visible } from '../text';
import { say } from '../words';

/** Text with the parts in backticks as code; no other markup is recognised. */
export function Words({ text }: { readonly text: string }) {
  return <>{visible(text).split(/`([^`]+)`/).map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))}</>;
}

export function ProblemText({ problem }: { readonly problem: Pick<Problem, 'what' | 'why' | 'fix'> }) {
  return (
    <div class="problem">
      <strong><Words text={sentence(problem.what)} />.</strong> <Words text={sentence(problem.why)} />.{' '}
      <span class="fix"><Words text={sentence(problem.fix)} />.</span>
    </div>
  );
}

export function Remedies({ problem, send }: { readonly problem: Problem; readonly send: (message: FromWebview) => void }) {
  const remedies = remediesFor(problem);
  if (remedies.length === 0) return null;
  return (
    <div class="remedies">
      {remedies.map((remedy, index) => (
        <button
          key={remedy} type="button" class={index === 0 ? 'primary' : 'secondary'} onClick={() => send({ type: 'mend', remedy })}
        >
          {say(REMEDIES[remedy].label)}
        </button>
      ))}
    </div>
  );
}

interface TroubleProps {
  readonly problem: Problem;
  /** Whether the buttons can still help with this problem. */
  readonly current: boolean;
  readonly send: (message: FromWebview) => void;
}

/** A note about a problem, with its buttons. */
export function Trouble({ problem, current, send }: TroubleProps) {
  const level = problem.code === 'no_folder' ? 'info' : 'error';
  return (
    <div class={`note ${level}`} role="alert" data-testid={`note-${level}`}>
      <span class={`codicon codicon-${level}`} aria-hidden="true" />
      <div>
        <ProblemText problem={problem} />
        {current && <Remedies problem={problem} send={send} />}
      </div>
    </div>
  );
}
