// How a question ended, in words. Pure.
import type { ApprovalResolved } from '../contract';
import { say } from '../words';

export type Outcome = Pick<ApprovalResolved, 'decision' | 'scope' | 'by'>;

const ALLOWED = {
  once: () => say('Allowed once'), session: () => say('Allowed for this session'),
  edits: () => say('All edits of this session allowed'), always: () => say('Always allowed'),
  everywhere: () => say('Always allowed in all workspaces'),
} as const;

const WHO = {
  person: () => say('you'),
  beforehand: () => say('an answer from the command line'),
  standing_answer: () => say('an answer you gave before'),
  review: () => say('the review of the work'),
  deadline: () => say('nobody answered in time'),
  disconnected: () => say('the connection was lost'),
  unavailable: () => say('nobody was there to ask'),
  cancelled: () => say('the turn ended'),
  withdrawn: () => say('one of its files was renamed, deleted or created'),
} as const;

/** The answers that somebody gave. All others are events that ended the question without an answer. */
const BY_SOMEBODY: ReadonlySet<keyof typeof WHO> = new Set(['person', 'beforehand', 'standing_answer', 'review']);

/** Says how a question ended, and who or what ended it. */
export function outcomeWords({ decision, scope, by }: Outcome): string {
  const how = decision === 'deny' ? say('Denied') : ALLOWED[scope]();
  // A session on disk may be of a newer version, and name something else.
  const who = (WHO as { readonly [by: string]: (() => string) | undefined })[by]?.() ?? by;
  return BY_SOMEBODY.has(by) ? say('{0} by {1}', how, who) : say('{0}: {1}', how, who);
}
