// Which parts of a shown change the person leaves out, and why (APP-09). Pure.
import type { FileDiff, LeftOut } from '../contract';

/** What is left out, by `partKey`, with the person's words. */
export type Parts = ReadonlyMap<string, string>;

export function partKey(path: string, hunk: number | null): string {
  return JSON.stringify([path, hunk]);
}

export function toggled(parts: Parts, key: string): Parts {
  const next = new Map(parts);
  if (!next.delete(key)) next.set(key, '');
  return next;
}

export function commented(parts: Parts, key: string, words: string): Parts {
  return new Map(parts).set(key, words);
}

export function leftOut(parts: Parts): readonly LeftOut[] {
  return [...parts].map(([key, words]) => {
    const [path, hunk] = JSON.parse(key) as readonly [string, number | null];
    return { path, hunk, comment: words.trim() || null };
  });
}

/** How many parts the changes have: hunks, and files that are taken as a whole. */
export function partCount(diffs: readonly FileDiff[]): number {
  return diffs.reduce((sum, diff) => sum + Math.max(1, diff.hunks), 0);
}
