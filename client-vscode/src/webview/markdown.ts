// The model's answer as HTML. The text is hostile: no HTML of its own, no images, no links but to the web, and places in
// files, which the extension host opens only inside the workspace (EDI-08).
import MarkdownIt from 'markdown-it';
import { say } from '../words';
import { splitPlaces } from './places';
import { highlight } from './syntax';

const renderer = new MarkdownIt({
  html: false,
  linkify: false,
  highlight: (code, language) => highlight(code, language) ?? '',
}).disable('image');

// Only addresses that VS Code opens in a browser, after asking: `command:`, `vscode:` and `file:` would act here.
renderer.validateLink = (url) => /^https?:\/\//i.test(url.trim());
// Where a link leads is part of its text, since the text is the model's to choose.
renderer.renderer.rules['link_open'] = (tokens, index, options, _env, self) => {
  tokens[index]!.attrSet('title', tokens[index]!.attrGet('href') ?? '');
  return self.renderToken(tokens, index, options);
};

// A block of code has a button that copies it; what is copied is the block as it is drawn.
const fence = renderer.renderer.rules['fence']!;
renderer.renderer.rules['fence'] = (tokens, index, options, env, self) =>
  `<div class="code"><button type="button" class="link copy">${renderer.utils.escapeHtml(say('Copy'))}</button>${fence(tokens, index, options, env, self)}</div>`;

// A place in a file is a button: `data-place` holds what is to be opened.
const { escapeHtml } = renderer.utils;
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

/** `text` as HTML; `names` are those that the text before it gave. */
export function markdown(text: string, names: Names = {}): string {
  return renderer.render(text, { references: { ...names } });
}

/** Where the blocks of a text begin; the first one at its beginning. */
export function blockStarts(text: string): readonly number[] {
  const tokens: ReturnType<typeof renderer.parse> = [];
  renderer.block.parse(text, renderer, {}, tokens);
  const lines = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines.push(at + 1);
  const starts = tokens.filter((token) => token.level === 0 && token.nesting >= 0 && token.map).map((token) => lines[token.map![0]]!);
  return [0, ...starts.slice(1)];
}

/** The names that `text` gives besides those that are known, which hold. */
export function namedIn(text: string, known: Names): Names {
  if (!text.includes(']:')) return known;
  const env = { references: { ...known } };
  renderer.block.parse(text, renderer, env, []);
  const found = env.references;
  return Object.keys(found).length > Object.keys(known).length ? found : known;
}
