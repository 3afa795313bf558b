// The input: Enter sends, Escape stops; while a turn runs it keeps what is typed for afterwards.
import { useLayoutEffect } from 'preact/hooks';
import type { FromWebview } from '../chat/messages';

interface Props {
  readonly busy: boolean;
  readonly input: { readonly current: HTMLTextAreaElement | null };
  readonly draft: string;
  readonly type: (text: string) => void;
  /** Model and mode, as far as they are known. */
  readonly about: string;
  readonly send: (message: FromWebview) => void;
}

export function Composer({ busy, input, draft, type, about, send }: Props) {
  // The element's own value: what was typed since the last frame is not yet in `draft`.
  const submit = (): void => {
    const text = input.current!.value;
    if (busy || !text.trim()) return;
    send({ type: 'ask', text });
    type('');
  };
  useLayoutEffect(() => {
    const area = input.current!;
    area.style.height = 'auto';
    area.style.height = `${area.scrollHeight}px`;
  }, [draft]);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'Enter' && !event.shiftKey && !event.ctrlKey && !event.metaKey && !event.isComposing) {
      event.preventDefault();
      submit();
    }
  };
  const held = busy && draft.trim() !== '';
  return (
    <form class="composer" onSubmit={(event) => { event.preventDefault(); submit(); }}>
      <div class="box">
        <textarea
          id="input" ref={input} rows={1} value={draft} aria-label="Message to Remit" aria-describedby="hint"
          placeholder="Ask, or say what to change" onInput={(event) => type(event.currentTarget.value)} onKeyDown={onKeyDown}
        />
        {busy ? (
          <button type="button" class="icon" title="Stop (Escape)" aria-label="Stop" onClick={() => send({ type: 'stop' })}>
            <span class="codicon codicon-debug-stop" aria-hidden="true" />
          </button>
        ) : (
          <button type="submit" class="icon" title="Send (Enter)" aria-label="Send" disabled={!draft.trim()}>
            <span class="codicon codicon-send" aria-hidden="true" />
          </button>
        )}
      </div>
      <div class="hint">
        <span title={about}>{about}</span>
        <span id="hint" role="status">{held ? 'Still working, Esc stops' : busy ? 'Esc stops' : 'Enter sends'}</span>
      </div>
    </form>
  );
}
