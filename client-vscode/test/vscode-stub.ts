// Stands in for the `vscode` module in unit tests, which use none of it.
export {};
