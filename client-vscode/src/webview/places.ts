// Finds places in files within a text: `src/cart.py:12:5`, and as Python's tracebacks write them (EDI-08). Pure.
// The extension host checks that the file exists inside the workspace when it is asked to open the file.
import type { FilePlace } from '../chat/messages';

export interface Part {
  readonly text: string;
  readonly place: FilePlace | null;
}

// A file name with an extension, a colon and a line. Not inside an address, whose host and port would look the same.
const PLACE = /(?<![\w/:@.-])((?:\.{0,2}\/)?(?:[\w.@+-]+\/)*[\w@+-][\w.@+-]*\.[A-Za-z]\w{0,9}):(\d{1,7})(?::(\d{1,5}))?(?!\w)/g;
const PYTHON = /File "([^"\n]{1,500})", line (\d{1,7})/g;
const MOST_CHARS = 100_000;

/** Splits a text into places and the text between them. */
export function splitPlaces(text: string): readonly Part[] {
  if (text.length > MOST_CHARS || !/\d/.test(text)) return [{ text, place: null }];
  const found = [...text.matchAll(PLACE), ...text.matchAll(PYTHON)].toSorted((a, b) => a.index - b.index);
  const parts: Part[] = [];
  let at = 0;
  for (const match of found) {
    const [whole, path, line, column] = match;
    if (match.index < at) continue;
    if (match.index > at) parts.push({ text: text.slice(at, match.index), place: null });
    parts.push({ text: whole, place: { path: path!, line: Number(line), column: column === undefined ? 1 : Number(column) } });
    at = match.index + whole.length;
  }
  return at < text.length || parts.length === 0 ? [...parts, { text: text.slice(at), place: null }] : parts;
}
