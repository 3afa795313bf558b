"""API keys, from the environment or else the operating system's keyring, never from a file of a project (MOD-15)."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from remit_governance.os_keyring import import_keyring, may_have_keyring
from remit_server.errors import SetupError
from remit_server.models.remote.engines import PROVIDERS, RemoteReference

SERVICE = "remit-api-key"
_IN_ENVIRONMENT = "set the key in the environment instead: docs/models.md lists the variables"


def find_key(reference: RemoteReference, environment: Mapping[str, str]) -> str | None:
    """Returns the key for a provider, if there is one.

    A key for a provider's own service is not sent to another address, whose key is REMIT_API_KEY or is stored under the
    address's host. Raises SetupError if the key would leave this machine unencrypted.
    """
    if reference.endpoint is None:
        names = PROVIDERS[reference.provider].key_variables
        key = next((environment[name] for name in names if environment.get(name)), None) or stored(reference.provider)
    else:
        key = environment.get("REMIT_API_KEY") or stored(reference.host)
    if key and reference.endpoint and reference.endpoint.startswith("http://") and not reference.is_local:
        why = f"the key for {reference.host} would be sent unencrypted"
        raise SetupError("the model cannot be asked", why, "use an https address")
    return key


def stored(name: str) -> str | None:
    """Returns the key that is stored in the keyring under a name; None if there is none, or no keyring."""
    if not may_have_keyring():
        return None
    keyring = import_keyring()
    from keyring.errors import KeyringError

    with suppress(KeyringError):
        key: str | None = keyring.get_password(SERVICE, name)
        return key
    return None


def store(name: str, key: str) -> None:
    """Stores a key. Raises SetupError if there is no keyring."""
    keyring = import_keyring()
    from keyring.errors import KeyringError

    try:
        keyring.set_password(SERVICE, name, key)
    except KeyringError as error:
        raise _no_keyring(error, "the key cannot be stored", _IN_ENVIRONMENT) from error


def remove(name: str) -> bool:
    """Removes a key; returns False if there was none. Raises SetupError if there is no keyring."""
    keyring = import_keyring()
    from keyring.errors import KeyringError, PasswordDeleteError

    try:
        keyring.delete_password(SERVICE, name)
    except PasswordDeleteError:
        return False
    except KeyringError as error:
        raise _no_keyring(
            error, "no key was removed", "where the key is in the environment, remove it there"
        ) from error
    return True


def _no_keyring(error: Exception, what: str, fix: str) -> SetupError:
    return SetupError(what, f"no keyring can be used here: {error}", fix)
