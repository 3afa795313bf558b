// Translates the words that the chat shows into the language of the editor (EDI-07). The English text is the key, as in `vscode.l10n`.
let bundle: { readonly [english: string]: string } = {};

/** Makes `say` use these translations; a text without a translation stays English. */
export function speak(translations: { readonly [english: string]: string }): void {
  bundle = translations;
}

/** A text in the editor's language; `{0}` and so on stand for the values. */
export function say(english: string, ...values: readonly (string | number)[]): string {
  return (bundle[english] ?? english).replace(/\{(\d)\}/g, (whole, index: string) => `${values[Number(index)] ?? whole}`);
}
