// The answers that stand for later questions too, each with what it would remember; behind one key, for most answers are for once.
import type { ApprovalRequired, Scope } from '../contract';
import { visibleLine } from '../text';
import { say } from '../words';

interface Props {
  readonly question: ApprovalRequired;
  readonly disabled: boolean;
  readonly allow: (scope: Scope) => void;
}

export function StandingAnswers({ question, disabled, allow }: Props) {
  const rows = ROWS.filter(({ scope, rule }) => question.scopes.includes(scope) && question[rule] !== null);
  if (rows.length === 0) return null;
  return (
    <details class="more">
      <summary>{say('More answers')}</summary>
      {rows.map(({ scope, rule, title, means }) => {
        const id = `${scope}-${question.approval_id}`;
        return (
          <div key={scope} class="session-rule">
            <p id={id}>{say(title)} {say(means)} <code>{visibleLine(question[rule] ?? '')}</code></p>
            <button type="button" class="secondary" disabled={disabled} aria-describedby={id} onClick={() => allow(scope)}>{say(title)}</button>
          </div>
        );
      })}
    </details>
  );
}

const ROWS = [
  { scope: 'session', rule: 'session_rule', title: 'Allow for session', means: 'also allows:' },
  {
    scope: 'always', rule: 'always_rule', title: 'Always allow in this workspace',
    means: 'adds exactly this rule to your permissions.yaml:',
  },
  {
    scope: 'everywhere', rule: 'everywhere_rule', title: 'Always allow in every workspace',
    means: 'adds this rule instead, which also holds in projects you have not opened yet:',
  },
] as const;
