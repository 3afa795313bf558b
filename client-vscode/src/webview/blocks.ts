// An answer of the model as blocks of Markdown. Complete blocks are never parsed again, so that a token of a long answer
// costs no more time than a token of a short one (EDI-05). Pure.
import { blockStarts, namedIn, type Names } from './markdown';

/** A block of an answer: Markdown, or code whose fence is not closed yet, in pieces. */
export type Block =
  | { readonly kind: 'markdown'; readonly text: string }
  | { readonly kind: 'open_code'; readonly pieces: readonly string[] };

export interface Blocks {
  readonly text: string;
  /** The complete blocks, which no later text can change, and where in the text they end. */
  readonly whole: readonly Block[];
  readonly end: number;
  /** The blocks that later text may still change. */
  readonly tail: readonly Block[];
  /** The addresses that the text has named. It is a new object whenever a name is added. */
  readonly names: Names;
}

export const NO_BLOCKS: Blocks = { text: '', whole: [], end: 0, tail: [], names: {} };

/** How many lines of open code are drawn as one piece. */
const LINES_A_PIECE = 40;

/** Returns the blocks of `text`, which usually is the text of `before` with more at its end. Lines end with `\n` only. */
export function grow(before: Blocks, text: string): Blocks {
  if (text === before.text) return before;
  const known = text.startsWith(before.text) ? before : NO_BLOCKS;
  const rest = text.slice(known.end);
  const starts = blockStarts(rest);
  // Only a complete line shows for certain that a block starts there.
  const complete = rest.lastIndexOf('\n') + 1;
  const last = starts.findLastIndex((start) => start < complete);
  const parts = starts.map((start, index) => rest.slice(start, starts[index + 1]));
  const closed = last > 0 ? parts.slice(0, last) : [];
  const length = closed.reduce((sum, part) => sum + part.length, 0);
  const block = (part: string): Block => ({ kind: 'markdown', text: part });
  return {
    text,
    whole: closed.length > 0 ? [...known.whole, ...closed.map(block)] : known.whole,
    end: known.end + length,
    tail: parts.slice(closed.length).map((part) => openCode(part) ?? block(part)),
    names: closed.length > 0 ? namedIn(rest.slice(0, length), known.names) : known.names,
  };
}

/** Splits code without a closing fence into pieces; null if the text is anything else. */
function openCode(text: string): Block | null {
  const [, fence, code] = /^ {0,3}(`{3,}|~{3,})[^\n]*\n([^]*)$/.exec(text) ?? [];
  if (!fence || code === undefined || new RegExp(`^ {0,3}${fence[0]}{${fence.length},}[ \\t]*$`, 'm').test(code)) return null;
  const lines = code.split(/(?<=\n)/);
  const count = Math.ceil(lines.length / LINES_A_PIECE);
  const piece = (n: number): string => lines.slice(n * LINES_A_PIECE, (n + 1) * LINES_A_PIECE).join('');
  return { kind: 'open_code', pieces: Array.from({ length: count }, (_, n) => piece(n)) };
}
