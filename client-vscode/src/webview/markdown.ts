// The model's answer as HTML. The text is hostile: no HTML of its own, no images, no links but to the web.
import hljs from 'highlight.js/lib/core';
import bash from 'highlight.js/lib/languages/bash';
import c from 'highlight.js/lib/languages/c';
import cpp from 'highlight.js/lib/languages/cpp';
import css from 'highlight.js/lib/languages/css';
import diff from 'highlight.js/lib/languages/diff';
import go from 'highlight.js/lib/languages/go';
import ini from 'highlight.js/lib/languages/ini';
import java from 'highlight.js/lib/languages/java';
import javascript from 'highlight.js/lib/languages/javascript';
import json from 'highlight.js/lib/languages/json';
import lua from 'highlight.js/lib/languages/lua';
import markdownSyntax from 'highlight.js/lib/languages/markdown';
import python from 'highlight.js/lib/languages/python';
import ruby from 'highlight.js/lib/languages/ruby';
import rust from 'highlight.js/lib/languages/rust';
import sql from 'highlight.js/lib/languages/sql';
import typescript from 'highlight.js/lib/languages/typescript';
import xml from 'highlight.js/lib/languages/xml';
import yaml from 'highlight.js/lib/languages/yaml';
import MarkdownIt from 'markdown-it';

const LANGUAGES = {
  bash, c, cpp, css, diff, go, ini, java, javascript, json, lua, markdown: markdownSyntax, python, ruby, rust, sql,
  typescript, xml, yaml,
};
for (const [name, language] of Object.entries(LANGUAGES)) hljs.registerLanguage(name, language);

const renderer = new MarkdownIt({
  html: false,
  linkify: false,
  highlight: (code, language) =>
    hljs.getLanguage(language) ? hljs.highlight(code, { language, ignoreIllegals: true }).value : '',
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
  `<div class="code"><button type="button" class="link copy">Copy</button>${fence(tokens, index, options, env, self)}</div>`;

export function markdown(text: string): string {
  return renderer.render(text);
}
