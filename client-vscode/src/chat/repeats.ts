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

/** Whether an answer or a note of the turn tells why the call was not done. */
export function isToldOf({ result }: ToolItem, items: readonly Item[]): boolean {
  const failure = result && failureOf(result);
  return failure !== null && !ranProgram(result!) && tells(items, failure.replace(NOT_DONE, ''));
}

/** Why nothing was done, or not everything; null if the turn shows it above: in an answer, in a note, or in the line of a call. */
export function reasonLeft({ reason, items }: Pick<Turn, 'reason' | 'items'>): string | null {
  if (reason === null || tells(items, reason)) return null;
  const failures = items.map((item) => (item.kind === 'tool' && item.result ? failureOf(item.result) : null));
  const shown = failures.some((failure) => failure && plain(reason).endsWith(plain(failure.replace(NOT_DONE, ''))));
  return shown ? null : reason;
}

const NOT_DONE = /^not done: /;

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
