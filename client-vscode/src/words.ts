// Words that the chat shows, in the language of the editor (EDI-07). The English text is the key, as in `vscode.l10n`.
let bundle: { readonly [english: string]: string } = {};

/** Has `say` speak with these translations; what they lack stays English. */
export function speak(translations: { readonly [english: string]: string }): void {
  bundle = translations;
}

/** A text in the editor's language; `{0}` and so on stand for the values. */
export function say(english: string, ...values: readonly (string | number)[]): string {
  return (bundle[english] ?? english).replace(/\{(\d)\}/g, (whole, index: string) => `${values[Number(index)] ?? whole}`);
}
