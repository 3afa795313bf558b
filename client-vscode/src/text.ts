// Words and diffs as a person should read them: nothing hidden, nothing that reorders itself (EDI-02).
import { applyPatch, parsePatch } from 'diff';

// Everything that draws nothing or changes how its neighbours are drawn: controls but tab and newline, soft hyphen,
// zero-width and bidirectional characters, line separators, variation selectors, tags, private use, letters and marks
// that draw nothing (the same as in the server's `visible.py`).
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

/** An argument vector as one would type it in a shell, each argument quoted unless it is plain. */
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

/** Time left until `deadline` (RFC 3339), in words, or null when it has passed or is no date. */
export function remaining(deadline: string, now: number): string | null {
  const seconds = Math.ceil((Date.parse(deadline) - now) / 1000);
  return seconds > 0 ? clock(seconds) : null;
}

/** Whole seconds as a clock counts them. */
export function clock(seconds: number): string {
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')} min`;
}

export interface DiffLine {
  readonly kind: 'add' | 'remove' | 'same' | 'hunk' | 'meta';
  readonly before: number | null;
  readonly after: number | null;
  readonly text: string;
}

/** A unified diff line by line, with line numbers. What does not parse is shown as it is, as `meta`. */
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

/** One line for a message of VS Code, which would make links of it. */
export function noticeLine(text: string): string {
  return visibleLine(text).replaceAll('](', '] (');
}

/** One line as Markdown that draws exactly this text: no link, image, code, emphasis or HTML of its own. A bare address is a link, too. */
export function plainMarkdown(text: string): string {
  return visibleLine(text).replace(/[\\`*_{}[\]()<>!|~&$@]|:(?=\/\/)|(?<=\bwww)\./gi, '\\$&');
}

/** A hunk as it is shown; `line` is its first changed line in the text as it is, counted from 0. */
export interface Hunk {
  readonly line: number;
  /** Where it stands in the text as it would be: its first line, counted from 0, and the one after its last. */
  readonly after: { readonly start: number; readonly end: number };
  readonly lines: readonly DiffLine[];
}

/** The hunks of a unified diff; none of what does not parse. */
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

/** `text` after `diff`, or null when the diff does not fit it exactly. */
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
