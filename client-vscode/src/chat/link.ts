// The way from the extension host to the webview: changes with numbers, a few at a time, and a watch over what arrives
// (EDI-05). A webview that has missed something, went blank or says nothing is drawn again from the host's own state.
import type { ToWebview } from './messages';
import type { Change } from './reduce';
import type { View } from './view';

/** Changes that come closer together than this go as one message. */
const TOGETHER_MS = 16;
/** A webview in sight that has not said for so long what it has seen is begun anew. */
const SILENT_MS = 15_000;

export interface Surroundings {
  readonly post: (message: ToWebview) => void;
  /** The view as it is now. */
  readonly view: () => View;
  readonly inSight: () => boolean;
  /** Loads the page of the webview again; it says `ready` then. */
  readonly reload: () => void;
  /** Runs something later; returns what takes that back. */
  readonly later: (milliseconds: number, run: () => void) => () => void;
}

export interface Link {
  readonly send: (change: Change) => void;
  /** Sends all there is: the webview has begun, or has missed something. */
  readonly redraw: () => void;
  /** What the webview says it has seen. */
  readonly seen: (next: number, drawn: boolean) => void;
  /** The webview is gone. */
  readonly close: () => void;
}

export function openLink({ post, view, inSight, reload, later }: Surroundings): Link {
  let next = 1;
  let waiting: readonly Change[] = [];
  let flushing: (() => void) | null = null;
  let watching: (() => void) | null = null;

  const watch = (): void => {
    watching ??= later(SILENT_MS, () => {
      watching = null;
      if (inSight()) reload();
    });
  };
  const heard = (): void => {
    watching?.();
    watching = null;
  };
  const flush = (): void => {
    if (waiting.length === 0) return;
    post({ type: 'changes', first: next, changes: waiting });
    next += waiting.length;
    waiting = [];
    watch();
  };
  const flushLater = (): void => {
    flushing = later(TOGETHER_MS, () => {
      flushing = null;
      if (waiting.length === 0) return;
      flush();
      flushLater();
    });
  };

  return {
    send: (change) => {
      waiting = [...waiting, change];
      if (flushing) return;
      flush();
      flushLater();
    },
    redraw: () => {
      waiting = [];
      heard();
      post({ type: 'view', view: view(), next });
    },
    seen: (upTo, drawn) => {
      if (!drawn) return reload();
      heard();
      if (upTo < next) watch();
    },
    close: () => {
      heard();
      flushing?.();
      flushing = null;
      waiting = [];
    },
  };
}
