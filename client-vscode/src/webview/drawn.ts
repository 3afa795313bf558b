// When the chat is drawn: once per frame, with all tokens since the last frame, and also before a key is handled.
import { options } from 'preact';

/** Makes Preact draw once per frame. A key is handled on a current page, even if a busy page drew no frame since the last key. */
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
