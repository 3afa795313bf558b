// The link from the extension host to the webview: sends numbered changes in small batches, and watches whether they arrive
// (EDI-05). If the webview has missed a change, went blank or stays silent, it is drawn again from the host's own view.
import type { ToWebview } from './messages';
import type { Change } from './reduce';
import type { View } from './view';

/** Changes that come within this time are sent as one message. */
const TOGETHER_MS = 16;
/** If a visible webview has not confirmed the changes for this long, its page is loaded again. */
const SILENT_MS = 15_000;

export interface Surroundings {
  readonly post: (message: ToWebview) => void;
  /** Returns the current view. */
  readonly view: () => View;
  readonly inSight: () => boolean;
  /** Loads the page of the webview again; the new page sends `ready`. */
  readonly reload: () => void;
  /** Runs a function later; returns a function that cancels it. */
  readonly later: (milliseconds: number, run: () => void) => () => void;
}

export interface Link {
  readonly send: (change: Change) => void;
  /** Sends the whole view, because the webview has just started or has missed a change. */
  readonly redraw: () => void;
  /** Takes the webview's confirmation of the changes that it has received. */
  readonly seen: (next: number, drawn: boolean) => void;
  /** Stops all timers and drops what was not sent, because the webview is gone. */
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
