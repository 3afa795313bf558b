"""Values of every setting, for tests that try them all."""

from __future__ import annotations

from typing import Any

VALUES: dict[tuple[str, str], tuple[Any, Any]] = {
    ("model", "name"): ("one", "two"),
    ("model", "max_tokens"): (100, 200),
    ("model", "temperature"): (0.5, 0.25),
    ("model", "top_p"): (0.5, 0.25),
    ("model", "seed"): (1, 2),
    ("model", "effort"): ("low", "high"),
    ("model", "context_tokens"): (4096, 8192),
    ("model", "thinking"): (True, True),
    ("model", "guided"): (False, False),
    ("model", "cache_mib"): (7, 8),
    ("model", "cache_dir"): ("/one", "/two"),
    ("model", "idle_s"): (7, 8),
    ("model", "memory_check"): (False, False),
    ("model", "record"): ("/one", "/two"),
    ("limits", "max_steps"): (24, 99),
    ("limits", "turn_timeout_s"): (599, 3599),
    ("limits", "approval_timeout_s"): (299, 3599),
    ("limits", "command_timeout_s"): (30, 1800),
    ("sessions", "save"): (False, False),
    ("sessions", "days"): (7, 8),
    ("sessions", "count"): (7, 8),
    ("audit", "days"): (7, 8),
    ("audit", "mib"): (7, 8),
    ("review", "when"): ("turn", "each"),
    ("limits", "spare_memory_mib"): (1, 500),
    ("limits", "spare_disk_mib"): (1, 500),
    ("log", "level"): ("debug", "error"),
    ("completion", "enabled"): (True, True),
    ("completion", "model"): ("one", "two"),
    ("workflow", "mode"): ("strict", "explore"),
    ("workflow", "warning_points"): (1.0, 50.0),
    ("workflow", "lock_points"): (4.0, 50.0),
    ("workflow", "test_hosts"): (["pypi.org"], ["127.0.0.1:8443", "[::1]:80"]),
    ("git", "message_prefix"): ("[one]", "[two]"),
    ("git", "auto_commit"): (True, True),
    ("git", "auto_commit_lines"): (7, 900),
    ("scheduler", "global_max"): (3, 8),
    ("scheduler", "code_executor"): (1, 8),
    ("scheduler", "integration_test"): (1, 8),
    ("telemetry", "endpoint"): ("http://127.0.0.1:4318", "https://collector.example"),
}
"""Two values of each setting; of a limit one that is lower than the default, and one that is higher."""
