"""The person's standing answers, and where they hold."""
