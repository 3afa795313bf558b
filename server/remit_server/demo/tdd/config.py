"""Reads a configuration of `key=value` lines."""


def parse_config(text: str) -> dict[str, str]:
    return dict(line.split("=") for line in text.splitlines())
