// Replaces the `vscode` module in unit tests of code that does not really use it.
export {};

/** Returns the English text with its values filled in. */
export const l10n = { t: (text: string, ...values: readonly string[]): string => text.replace(/\{(\d)\}/g, (_, index: string) => values[Number(index)] ?? '') };
