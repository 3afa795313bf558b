// Stands in for the `vscode` module in unit tests, which use none of it.
export {};

/** English, with its values filled in. */
export const l10n = { t: (text: string, ...values: readonly string[]): string => text.replace(/\{(\d)\}/g, (_, index: string) => values[Number(index)] ?? '') };
