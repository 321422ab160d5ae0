"""The demo's own files: a contract, tools over a real SQLite database, a snippet, a host file."""
