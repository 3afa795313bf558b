// Draws the model's answer as HTML. The text is not trusted: it gets no HTML of its own, no images, only links to the web, and places
// in files, which the extension host opens only inside the workspace (EDI-08).
import MarkdownIt from 'markdown-it';
import { say } from '../words';
import { splitPlaces } from './places';
import { highlight } from './syntax';

const renderer = new MarkdownIt({
  html: false,
  linkify: false,
  highlight: (code, language) => highlight(code, language) ?? withPlaces(code),
});

const { escapeHtml } = renderer.utils;

// Allow only addresses that VS Code opens in a browser after asking; `command:`, `vscode:` and `file:` would act in VS Code.
renderer.validateLink = (url) => /^https?:\/\//i.test(url.trim());
// Show the address of a link as its tooltip, because the model chooses the text of the link.
renderer.renderer.rules['link_open'] = (tokens, index, options, _env, self) => {
  tokens[index]!.attrSet('title', tokens[index]!.attrGet('href') ?? '');
  return self.renderToken(tokens, index, options);
};

// An image is a link to it: nothing is loaded before the person opens it.
renderer.renderer.rules['image'] = (tokens, index) => {
  const address = String(tokens[index]!.attrGet('src') ?? '');
  const [href, name] = [escapeHtml(address), escapeHtml(tokens[index]!.content || address)];
  return insideLink(tokens, index) ? name : `<a href="${href}" title="${href}">${name}</a>`;
};

// A list of tasks has a box at each.
const BOXES: { readonly [mark: string]: string } = { '[ ] ': '☐ ', '[x] ': '☑ ', '[X] ': '☑ ' };
renderer.core.ruler.push('boxes', ({ tokens }) => {
  tokens.forEach((token, index) => {
    const first = token.children?.[0];
    const box = first?.type === 'text' && tokens[index - 2]?.type === 'list_item_open' ? BOXES[first.content.slice(0, 4)] : undefined;
    if (first && box) first.content = `${box}${first.content.slice(4)}`;
  });
});

// A code block has a button that copies the block as it is drawn.
const fence = renderer.renderer.rules['fence']!;
renderer.renderer.rules['fence'] = (tokens, index, options, env, self) =>
  `<div class="code"><button type="button" class="link copy">${escapeHtml(say('Copy'))}</button>${fence(tokens, index, options, env, self)}</div>`;

// A place in a file is a button, with the place to open in `data-place`.
const withPlaces = (text: string): string => splitPlaces(text).map(({ text: part, place }) => (place
  ? `<button type="button" class="link place" data-place="${escapeHtml(JSON.stringify(place))}">${escapeHtml(part)}</button>`
  : escapeHtml(part))).join('');
renderer.renderer.rules['text'] = (tokens, index) =>
  (insideLink(tokens, index) ? escapeHtml : withPlaces)(tokens[index]!.content);
renderer.renderer.rules['code_inline'] = (tokens, index) =>
  `<code>${(insideLink(tokens, index) ? escapeHtml : withPlaces)(tokens[index]!.content)}</code>`;

function insideLink(tokens: readonly { readonly type: string }[], index: number): boolean {
  const before = tokens.slice(0, index).findLast(({ type }) => type === 'link_open' || type === 'link_close');
  return before?.type === 'link_open';
}

/** Addresses by the names that a text gave them (`[name]: https://…`). */
export type Names = { readonly [name: string]: { href: string; title: string } };

/** Renders `text` as HTML; `names` are the names that earlier text has defined. */
export function markdown(text: string, names: Names = {}): string {
  return renderer.render(text, { references: { ...names } });
}

/** The offsets at which the blocks of a text start; the first is always 0. */
export function blockStarts(text: string): readonly number[] {
  const tokens: ReturnType<typeof renderer.parse> = [];
  renderer.block.parse(text, renderer, {}, tokens);
  const lines = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines.push(at + 1);
  const starts = tokens.filter((token) => token.level === 0 && token.nesting >= 0 && token.map).map((token) => lines[token.map![0]]!);
  return [0, ...starts.slice(1)];
}

/** Adds the names that `text` defines to the known ones, which are not redefined. */
export function namedIn(text: string, known: Names): Names {
  if (!text.includes(']:')) return known;
  const env = { references: { ...known } };
  renderer.block.parse(text, renderer, env, []);
  const found = env.references;
  return Object.keys(found).length > Object.keys(known).length ? found : known;
}
