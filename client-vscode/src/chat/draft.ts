// The unsent message, kept by the extension host: the host outlives the webview, and its memory outlives the window (EDI-05).
import { NO_DRAFT, type Draft } from './attached';

const DRAFT = 'draft';

/** The part of `vscode.Memento` that is used here. */
export interface Memory {
  get<T>(key: string, otherwise: T): T;
  update(key: string, value: unknown): Thenable<void>;
}

/** Keeps the unsent message in the host and stores it without a pause, because a window can be reloaded at any moment. */
export function keepDraft(memory: Memory) {
  let draft = memory.get<Draft>(DRAFT, NO_DRAFT);
  let stored = draft;
  let storing = false;
  const store = async (): Promise<void> => {
    storing = true;
    try {
      // While one draft is being stored, more may be typed: then only the newest is stored next.
      while (stored !== draft) {
        const next = draft;
        await memory.update(DRAFT, next);
        stored = next;
      }
    } finally {
      storing = false;
    }
  };
  return {
    get: (): Draft => draft,
    keep: async (next: Draft): Promise<void> => {
      draft = next;
      if (!storing) await store();
    },
  };
}
