// When the chat is drawn: once a frame, with all tokens that arrived since the last one, and before a key is handled.
import { options } from 'preact';

/** Draws by frames from here on. A key meets what the keys before it did, also where a busy page has no frame between them. */
export function drawByFrames(): void {
  let waiting: (() => void) | null = null;
  const draw = (): void => {
    const now = waiting;
    waiting = null;
    now?.();
  };
  options.debounceRendering = (render) => {
    waiting = render;
    requestAnimationFrame(draw);
  };
  window.addEventListener('keydown', draw, { capture: true });
}
