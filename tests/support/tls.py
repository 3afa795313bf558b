"""TLS for tests: a certificate that nobody signed, a server's context, and a client's first bytes as OpenSSL sends
them."""

from __future__ import annotations

import datetime as dt
import ipaddress
import ssl
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@cache
def server_context() -> ssl.SSLContext:
    """Returns the context of a server with a certificate of its own."""
    with TemporaryDirectory() as folder:
        return _context(Path(folder, "pem"), *_signed("test"))


def context_of(folder: Path) -> tuple[ssl.SSLContext, Path]:
    """Returns the context of a server at 127.0.0.1, and the file of the certificate that its clients have to trust."""
    here = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    secret, certificate = _signed("127.0.0.1", here, x509.BasicConstraints(ca=True, path_length=None))
    believed = folder / "authority.pem"
    believed.write_bytes(certificate)
    return _context(folder / "server.pem", secret, certificate), believed


def _signed(called: str, *more: x509.ExtensionType) -> tuple[bytes, bytes]:
    """Returns a key, and a certificate that is signed with it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, called)])
    now = dt.datetime.now(dt.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
    )
    for each in more:
        builder = builder.add_extension(each, critical=isinstance(each, x509.BasicConstraints))
    pem = serialization.Encoding.PEM
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return secret, builder.sign(key, hashes.SHA256()).public_bytes(pem)


def _context(file: Path, secret: bytes, certificate: bytes) -> ssl.SSLContext:
    """Returns a server's context. Writes a file first, because the library loads a certificate from nothing else."""
    file.write_bytes(secret + certificate)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context


def client_context() -> ssl.SSLContext:
    """Returns the context of a client that trusts every server."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def client_hello(name: str | None) -> bytes:
    """Returns a client's first bytes."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = client_context().wrap_bio(incoming, outgoing, server_hostname=name)
    try:
        client.do_handshake()
    except ssl.SSLWantReadError:
        return outgoing.read()
    raise AssertionError("nobody answered")
