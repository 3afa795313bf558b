// The standing answers, each with the rule that it would add. They are in a fold, because most answers are for once.
import type { ApprovalRequired, Scope } from '../contract';
import { visible, visibleLine } from '../text';
import { say } from '../words';

interface Props {
  readonly question: ApprovalRequired;
  readonly disabled: boolean;
  readonly allow: (scope: Scope) => void;
}

export function StandingAnswers({ question, disabled, allow }: Props) {
  const rows = ROWS.filter(({ scope, rule }) => question.scopes.includes(scope) && question[rule] !== null);
  return (
    <details class="more">
      <summary>{say('More answers, and why you are asked')}</summary>
      <AskedBy question={question} />
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

/** The rules that ask, the files that they are in, and the digest that the answer is bound to. */
function AskedBy({ question }: { readonly question: ApprovalRequired }) {
  return (
    <ul class="asked-by">
      {question.reasons.filter(({ action }) => action !== 'allow').map(({ rule, layer, reason, file, line }, index) => (
        <li key={index}>
          {say('Rule')} <code>{visibleLine(rule ?? layer)}</code>: {visible(reason)}
          {file && <> ({visibleLine(file)}{line ? `:${line}` : ''})</>}
        </li>
      ))}
      <li>{say('Checksum of exactly what you are allowing')}: <code>{question.digest}</code></li>
    </ul>
  );
}

const ROWS = [
  { scope: 'session', rule: 'session_rule', title: 'Allow for session', means: 'also allows' },
  { scope: 'edits', rule: 'edits_rule', title: 'Allow all edits this session', means: 'allows' },
  {
    scope: 'always', rule: 'always_rule', title: 'Always allow in this workspace',
    means: 'adds exactly this rule to your permissions.yaml:',
  },
  {
    scope: 'everywhere', rule: 'everywhere_rule', title: 'Always allow in every workspace',
    means: 'adds this rule instead, which also applies to projects you have not opened yet:',
  },
] as const;
