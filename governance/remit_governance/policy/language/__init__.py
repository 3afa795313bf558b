"""Policy files: from their text to compiled rules."""
