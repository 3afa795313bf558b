// Which parts of a shown change the person leaves out, and the reason they give (APP-09). Pure.
import type { FileDiff, LeftOut } from '../contract';

/** A hunk of a shown diff, counted from 0; with null, the whole file. */
export interface Part {
  readonly path: string;
  readonly hunk: number | null;
}

export type LeftOutParts = readonly LeftOut[];

export function isLeftOut(parts: LeftOutParts, part: Part): boolean {
  return parts.some((each) => isSame(each, part));
}

/** Leaves a part out, or includes it again if it was left out. */
export function toggled(parts: LeftOutParts, part: Part): LeftOutParts {
  const others = parts.filter((each) => !isSame(each, part));
  return others.length < parts.length ? others : [...parts, { ...part, comment: null }];
}

/** Leaves a part out, with a comment for the model. */
export function commented(parts: LeftOutParts, part: Part, words: string): LeftOutParts {
  const others = parts.filter((each) => !isSame(each, part));
  return [...others, { ...part, comment: words.trim() || null }];
}

/** The number of parts that the changes have: their hunks, and the files that can only be taken as a whole. */
export function partCount(diffs: readonly FileDiff[]): number {
  return diffs.reduce((sum, diff) => sum + Math.max(1, diff.hunks), 0);
}

function isSame(each: LeftOut, part: Part): boolean {
  return each.path === part.path && (each.hunk ?? null) === part.hunk;
}
