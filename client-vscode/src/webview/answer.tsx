// The model's answer, drawn block by block: a complete block is drawn only once (EDI-05).
import { memo } from 'preact/compat';
import { useMemo, useRef } from 'preact/hooks';
import type { FilePlace } from '../chat/messages';
import { say } from '../words';
import { grow, NO_BLOCKS, type Block } from './blocks';
import { markdown, type Names } from './markdown';

interface Props {
  readonly text: string;
  readonly open: (place: FilePlace) => void;
}

export function Answer({ text, open }: Props) {
  const known = useRef(NO_BLOCKS);
  known.current = grow(known.current, text.includes('\r') ? text.replace(/\r\n?/g, '\n') : text);
  const { whole, tail, names } = known.current;
  const onClick = (event: MouseEvent): void => {
    const button = event.target instanceof Element ? event.target.closest<HTMLButtonElement>('button') : null;
    if (button?.classList.contains('copy')) void copyBeside(button);
    const place = button?.dataset['place'];
    if (place) open(JSON.parse(place) as FilePlace);
  };
  return (
    <div class="answer" data-testid="answer" onClick={onClick}>
      {[...whole, ...tail].map((block, index) => <Drawn key={index} block={block} names={names} />)}
    </div>
  );
}

const Drawn = memo(({ block, names }: { readonly block: Block; readonly names: Names }) => {
  switch (block.kind) {
    case 'markdown':
      return <Markdown text={block.text} names={names} />;
    case 'open_code':
      return <pre><code>{block.pieces.map((piece, index) => <Piece key={index} text={piece} />)}</code></pre>;
  }
}, (before, after) => before.names === after.names && isSame(before.block, after.block));

function isSame(before: Block, after: Block): boolean {
  return before === after || (before.kind === 'markdown' && after.kind === 'markdown' && before.text === after.text);
}

function Markdown({ text, names }: { readonly text: string; readonly names: Names }) {
  const html = useMemo(() => markdown(text, names), [text, names]);
  return <div class="block" dangerouslySetInnerHTML={{ __html: html }} />;
}

const Piece = memo(({ text }: { readonly text: string }) => <span class="piece">{text}</span>);

/** Copies the code block that a button belongs to, and shows on the button whether that worked. */
async function copyBeside(button: HTMLButtonElement): Promise<void> {
  const code = button.parentElement?.querySelector('code')?.textContent ?? '';
  const said = await navigator.clipboard.writeText(code).then(() => say('Copied'), () => say('Cannot copy'));
  button.textContent = said;
  setTimeout(() => { button.textContent = say('Copy'); }, 1_500);
}
