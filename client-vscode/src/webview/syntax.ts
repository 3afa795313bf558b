// Highlights code by its language, as HTML in which every character of the code is escaped.
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
import type { DiffLine } from '../text';

const LANGUAGES = {
  bash, c, cpp, css, diff, go, ini, java, javascript, json, lua, markdown: markdownSyntax, python, ruby, rust, sql,
  typescript, xml, yaml,
};
for (const [name, language] of Object.entries(LANGUAGES)) hljs.registerLanguage(name, language);

/** Returns code as HTML, or null if the language is not known. `language` may also be a file name extension. */
export function highlight(code: string, language: string): string | null {
  return hljs.getLanguage(language) ? hljs.highlight(code, { language, ignoreIllegals: true }).value : null;
}

/** Each line of a hunk as HTML: removed lines highlighted within the old text, added ones within the new. Null for an unknown language. */
export function highlightHunk(lines: readonly DiffLine[], path: string): readonly string[] | null {
  const language = path.slice(path.lastIndexOf('.') + 1).toLowerCase();
  const side = (gone: 'add' | 'remove'): Map<DiffLine, string> | null => {
    const own = lines.filter(({ kind }) => kind === 'same' || kind === (gone === 'add' ? 'remove' : 'add'));
    const html = highlight(own.map(({ text }) => text).join('\n'), language);
    return html === null ? null : new Map(eachLine(html).map((line, index) => [own[index]!, line]));
  };
  const before = side('add');
  const after = side('remove');
  return before && after && lines.map((line) => after.get(line) ?? before.get(line) ?? escaped(line.text));
}

/** Splits HTML of nested spans into lines; a span over several lines is closed at each line's end and opened again. */
function eachLine(html: string): readonly string[] {
  let open: readonly string[] = [];
  return html.split('\n').map((line) => {
    const start = open.join('');
    for (const [tag] of line.matchAll(/<\/?span[^>]*>/g)) open = tag.startsWith('</') ? open.slice(0, -1) : [...open, tag];
    return start + line + '</span>'.repeat(open.length);
  });
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
