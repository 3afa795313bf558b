// Decisions and the rules that made them, as rows of a list (LSP-11). Pure.
import { count } from './chat/view';
import { visibleLine } from './text';

/** The fields of one call in the audit log that a list shows. */
export interface Decided {
  readonly number: number;
  readonly time: string;
  readonly tool_name?: string | null;
  readonly intent?: string | null;
  readonly policy_decision?: string | null;
  readonly policy_rule_name?: string | null;
  readonly policy_rule_at?: string | null;
  /** The call's actions, as JSON. */
  readonly actions?: string | null;
  readonly session_id?: string | null;
  /** Whether the call failed, and its outcome. Both are missing while the call runs. */
  readonly failed?: boolean;
  readonly came_to?: string | null;
}

export interface CountedRule {
  readonly rule: string;
  readonly layer: string;
  readonly project: boolean;
  readonly action: string;
  readonly match: string;
  readonly file: string | null;
  readonly line: number | null;
  readonly hits: { readonly [verdict: string]: number };
  readonly dead: readonly string[];
  readonly shadowed_by: string | null;
}

/** The place of a rule, as `remit.policy.open` takes it. */
export interface RulePlace {
  readonly rule?: string;
  readonly file?: string;
  readonly line?: number;
}

export interface Row {
  readonly label: string;
  readonly description: string;
  readonly tooltip: string;
  readonly icon: string;
  readonly colour: string | null;
  readonly place: RulePlace | null;
  /** The files that the call was about, each by its path as the log has it. */
  readonly files: readonly string[];
}

/** The decisions that a list of calls can be filtered by. */
export const DECISIONS = ['allowed', 'review_required', 'denied'] as const;
export type Decision = (typeof DECISIONS)[number];

export const DECISION_WORDS: { readonly [decision in Decision]: string } = {
  allowed: 'Allowed', review_required: 'Asked about', denied: 'Denied',
};

const LOOKS: { readonly [decision: string]: readonly [icon: string, colour: string] } = {
  allowed: ['pass', 'testing.iconPassed'],
  allowed_by_token: ['pass', 'testing.iconPassed'],
  review_required: ['question', 'list.warningForeground'],
  denied: ['error', 'testing.iconFailed'],
};

/** The icon of a decision. For a call that the person was asked about, it shows how the call ended. */
function lookOf({ policy_decision: decision, failed }: Decided): readonly [icon: string, colour: string | null] {
  const asked = decision === 'review_required' && failed !== undefined;
  return LOOKS[asked ? (failed ? 'denied' : 'allowed') : decision ?? ''] ?? ['circle-slash', null];
}

export function decidedRow(call: Decided): Row {
  const decision = call.policy_decision ?? '';
  const [icon, colour] = lookOf(call);
  const rule = visibleLine(call.policy_rule_name ?? '');
  const at = new Date(call.time).toLocaleTimeString();
  return {
    label: `${visibleLine(call.tool_name ?? 'a call')} ${subject(call)}`.trim(),
    description: [call.failed ? 'not done' : '', rule, at].filter(Boolean).join(' · '),
    tooltip: [
      `Record ${call.number}, ${call.time}`,
      `${decision.replaceAll('_', ' ')}${rule ? ` by ${rule}` : ''}`,
      call.came_to ? `${call.failed ? 'Not done' : 'Done'}: ${visibleLine(call.came_to)}` : '',
      call.intent ? `Intent: ${call.intent}` : '',
      call.session_id ? `Session: ${visibleLine(call.session_id)}` : '',
    ].filter(Boolean).join('\n'),
    icon,
    colour,
    place: placeOf(call.policy_rule_name ?? null, call.policy_rule_at ?? null),
    files: [...new Set(actionsOf(call).flatMap(({ path }) => (typeof path === 'string' ? [path] : [])))],
  };
}

const ACTIONS: { readonly [action: string]: readonly [icon: string, colour: string] } = {
  allow: ['pass', 'testing.iconPassed'],
  require_review: ['question', 'list.warningForeground'],
  deny: ['error', 'testing.iconFailed'],
};

export function ruleRow(rule: CountedRule): Row {
  const counted = Object.entries(rule.hits).map(([verdict, times]) => `${verdict} ${times}`).join(', ');
  const never = [...rule.dead.map((why) => `dead: ${why}`), ...(rule.shadowed_by ? [`shadowed by ${rule.shadowed_by}`] : [])];
  const [icon, colour] = never.length > 0 ? ['warning', 'list.warningForeground'] : ACTIONS[rule.action] ?? ['circle-outline', null];
  return {
    label: visibleLine(rule.rule),
    description: never[0] ? visibleLine(never[0]) : counted || 'no decisions',
    tooltip: [`${rule.action.replaceAll('_', ' ')}: ${visibleLine(rule.match)}`, counted, ...never.map(visibleLine)].filter(Boolean).join('\n'),
    icon: icon ?? 'circle-outline',
    colour: colour ?? null,
    place: rule.file === null ? null : { rule: rule.rule, file: rule.file, ...(rule.line === null ? {} : { line: rule.line }) },
    files: [],
  };
}

export interface RuleGroup {
  readonly title: string;
  readonly rules: readonly CountedRule[];
  /** Whether a person can change these rules. */
  readonly own: boolean;
}

const ORIGINS = ['Yours', 'The project’s', 'Packaged default', 'Built in'] as const;

function originOf(rule: CountedRule): (typeof ORIGINS)[number] {
  if (rule.layer === 'builtin') return 'Built in';
  if (rule.project) return 'The project’s';
  return /[\\/](default|workflow)\.yaml$/.test(rule.file ?? '') ? 'Packaged default' : 'Yours';
}

/** Groups the rules by where they come from, the person's own first. */
export function ruleGroups(rules: readonly CountedRule[]): readonly RuleGroup[] {
  return ORIGINS.flatMap((origin) => {
    const own = rules.filter((rule) => originOf(rule) === origin);
    const title = `${origin} (${count(own.length, 'rule')})`;
    return own.length > 0 ? [{ title, rules: own, own: origin !== 'Built in' }] : [];
  });
}

/** The path or the command that a call was about. */
function subject(call: Decided): string {
  const [first] = actionsOf(call);
  const about = first?.path ?? first?.script ?? (Array.isArray(first?.command) ? first.command.join(' ') : first?.command);
  return typeof about === 'string' ? visibleLine(about).slice(0, 120) : '';
}

/** Returns the actions of a call, or none if the log has nothing readable. */
function actionsOf({ actions }: Decided): readonly { readonly path?: unknown; readonly script?: unknown; readonly command?: unknown }[] {
  try {
    const found: unknown = JSON.parse(actions ?? '');
    return Array.isArray(found) ? found.filter((each) => typeof each === 'object' && each !== null) : [];
  } catch {
    return [];
  }
}

function placeOf(rule: string | null, at: string | null): RulePlace | null {
  if (!rule) return null;
  const first = rule.split(', ')[0]!;
  const found = at?.split(', ')[0]?.match(/^(.*):(\d+)$/);
  return found ? { rule: first, file: found[1]!, line: Number(found[2]) } : { rule: first };
}
