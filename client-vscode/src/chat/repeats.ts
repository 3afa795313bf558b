// What a turn tells twice: why a call was not done, what its command printed, why not all was done (EDI-02). Pure.
import type { ToolResultEvent } from '../contract';
import { ranProgram, wentWell, type Item, type ToolItem, type Turn } from './view';

/** How much of a command's output the answers of the turn repeat. */
export type Repeated = 'all' | 'beginning' | 'nothing';

/** So many first lines in an answer are the beginning of the output, and not a line that both happen to have. */
const BEGINNING = 8;

/** How much of what the call's command printed stands, line by line, in the answers of its turn. */
export function repeatedOf({ printed }: ToolItem, items: readonly Item[]): Repeated {
  const lines = linesOf(printed);
  const answered = new Set(items.flatMap((item) => (item.kind === 'text' ? linesOf(item.text) : [])));
  const missing = lines.findIndex((line) => !answered.has(line));
  if (lines.length === 0 || (missing >= 0 && missing < BEGINNING)) return 'nothing';
  return missing < 0 ? 'all' : 'beginning';
}

/** What the line of a call says of a call that was not done, or of a program that failed; null for every other call. */
export function failureOf(result: ToolResultEvent): string | null {
  if (wentWell(result)) return null;
  if (result.ok || ranProgram(result) || !result.error) return result.summary;
  return `${result.error.what}: ${result.error.why}`;
}

/** Whether the turn tells elsewhere why the call was not done: in an answer, in a note, or in its ending. */
export function isToldOf({ result }: ToolItem, turn: Pick<Turn, 'reason' | 'items'>): boolean {
  const failure = result && !ranProgram(result) ? failureOf(result)?.replace(NOT_DONE, '') : undefined;
  return failure !== undefined && (tells(turn.items, failure) || plain(turn.reason ?? '').includes(plain(failure)));
}

/** Why nothing was done, or not everything (AGT-15); null if an answer or a note has told it. */
export function reasonLeft({ reason, items }: Pick<Turn, 'reason' | 'items'>): string | null {
  return reason === null || tells(items, reason.replace(LAST_FAILED, '')) ? null : reason;
}

const NOT_DONE = /^not done: /;
/** What the server puts before how the last program ended. */
const LAST_FAILED = /^the last command failed: /;

function tells(items: readonly Item[], words: string): boolean {
  const wanted = plain(words);
  return items.some((item) => {
    if (item.kind === 'text') return plain(item.text).includes(wanted);
    return item.kind === 'note' && item.error !== null && plain(`${item.error.what}: ${item.error.why}`).includes(wanted);
  });
}

function linesOf(text: string): readonly string[] {
  return text.split('\n').map((line) => line.trim()).filter(Boolean);
}

function plain(text: string): string {
  return text.toLowerCase().replaceAll('`', '').replace(/\s+/g, ' ').trim();
}
