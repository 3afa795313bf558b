"""The smallest useful pygls server, with which `remit serve` is compared."""

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer

server = LanguageServer("hello", "1")


@server.feature(lsp.TEXT_DOCUMENT_HOVER)
def hover(params: lsp.HoverParams) -> lsp.Hover:
    return lsp.Hover(contents=f"line {params.position.line}")


if __name__ == "__main__":
    server.start_io()
