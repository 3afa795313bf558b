// Text and diffs in a form that is safe to read: no hidden characters, and none that reorder the text (EDI-02).
import { applyPatch, parsePatch } from 'diff';

// All characters that draw nothing or change how their neighbours are drawn: control characters, soft hyphen,
// zero-width and bidirectional characters, line separators, variation selectors, tags, private use, letters and marks
// that draw nothing (the same as in the server's `visible.py`). `visible` keeps tab and newline.
const HIDDEN =
  /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\u034F\u115F\u1160\u17B4\u17B5\u180B-\u180D\u180F\u2800\u3164\uFFA0\uFE00-\uFE0F\u{E0100}-\u{E01EF}]/gu;

/** `text` with every hidden character spelled out; tabs and newlines stay. */
export function visible(text: string): string {
  return text.replace(HIDDEN, (character) =>
    character === '\n' || character === '\t'
      ? character
      : `⟨U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}⟩`);
}

/** One line: `visible`, with newlines and tabs spelled out too. */
export function visibleLine(text: string): string {
  return visible(text).replaceAll('\n', '↵').replaceAll('\t', '⇥');
}

/** An argument vector as typed in a shell, with each argument quoted unless it has only safe characters. */
export function commandLine(argv: readonly string[]): string {
  return argv
    .map((each) => (/^[\w@%+=:,./-]+$/.test(each) ? each : `'${visibleLine(each).replaceAll("'", "'\\''")}'`))
    .join(' ');
}

export function duration(milliseconds: number): string {
  if (milliseconds < 1) return '<1 ms';
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 60_000) return `${(milliseconds / 1000).toFixed(1)} s`;
  return `${Math.floor(milliseconds / 60_000)} min ${Math.round((milliseconds % 60_000) / 1000)} s`;
}

/** The time left until `deadline` (RFC 3339) as text, or null if it has passed or is not a date. */
export function remaining(deadline: string, now: number): string | null {
  const seconds = Math.ceil((Date.parse(deadline) - now) / 1000);
  return seconds > 0 ? clock(seconds) : null;
}

/** Whole seconds as text, from one minute on as minutes and seconds. */
export function clock(seconds: number): string {
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')} min`;
}

export interface DiffLine {
  readonly kind: 'add' | 'remove' | 'same' | 'hunk' | 'meta';
  readonly before: number | null;
  readonly after: number | null;
  readonly text: string;
}

/** A unified diff line by line, with line numbers. If the diff does not parse, its lines are returned unchanged as `meta`. */
export function diffLines(diff: string): readonly DiffLine[] {
  const hunks = parsed(diff);
  if (!hunks) return diff.split('\n').map((text) => ({ kind: 'meta', before: null, after: null, text: visible(text) }));
  return hunks.flatMap((hunk) => {
    let before = hunk.oldStart;
    let after = hunk.newStart;
    const lines = hunk.lines.map((line): DiffLine => {
      const text = visible(line.slice(1));
      switch (line[0]) {
        case '+': return { kind: 'add', before: null, after: after++, text };
        case '-': return { kind: 'remove', before: before++, after: null, text };
        case '\\': return { kind: 'meta', before: null, after: null, text: text.trim() };
        default: return { kind: 'same', before: before++, after: after++, text };
      }
    });
    const where = `lines ${hunk.newStart}–${Math.max(hunk.newStart, hunk.newStart + hunk.newLines - 1)}`;
    return [{ kind: 'hunk', before: null, after: null, text: where }, ...lines];
  });
}

/** One line for a message of VS Code, with Markdown links broken because VS Code would make them clickable. */
export function noticeLine(text: string): string {
  return visibleLine(text).replaceAll('](', '] (');
}

/** One line as Markdown that shows exactly this text: no link (a bare address is one, too), image, code, emphasis or HTML in it takes effect. */
export function plainMarkdown(text: string): string {
  return visibleLine(text).replace(/[\\`*_{}[\]()<>!|~&$@]|:(?=\/\/)|(?<=\bwww)\./gi, '\\$&');
}

/** A hunk for display; `line` is its first changed line in the text before the change, counted from 0. */
export interface Hunk {
  readonly line: number;
  /** The hunk's lines in the changed text: its first line, counted from 0, and the line after its last. */
  readonly after: { readonly start: number; readonly end: number };
  readonly lines: readonly DiffLine[];
}

/** The hunks of a unified diff, or none if it does not parse. */
export function hunksOf(diff: string): readonly Hunk[] {
  const lines = diffLines(diff);
  const starts = lines.flatMap((line, index) => (line.kind === 'hunk' ? [index] : []));
  const places = parsed(diff) ?? [];
  return starts.map((start, number) => {
    const own = lines.slice(start + 1, starts[number + 1]);
    const unchanged = own.findIndex((line) => line.kind !== 'same');
    const { oldStart = 1, newStart = 1, newLines = 0 } = places[number] ?? {};
    const after = { start: newStart - 1, end: newStart - 1 + newLines };
    return { line: oldStart - 1 + Math.max(0, unchanged), after, lines: own };
  });
}

export function added(lines: readonly DiffLine[]): number {
  return lines.filter((line) => line.kind === 'add').length;
}

export function removed(lines: readonly DiffLine[]): number {
  return lines.filter((line) => line.kind === 'remove').length;
}

/** Returns `text` with `diff` applied, or null if the diff does not fit exactly. */
export function patched(text: string, diff: string): string | null {
  try {
    const result = applyPatch(text, diff, { fuzzFactor: 0 });
    return result === false ? null : result;
  } catch {
    return null;
  }
}

function parsed(diff: string): ReturnType<typeof parsePatch>[number]['hunks'] | null {
  try {
    const hunks = parsePatch(diff).flatMap((file) => file.hunks);
    return hunks.length > 0 ? hunks : null;
  } catch {
    return null;
  }
}
