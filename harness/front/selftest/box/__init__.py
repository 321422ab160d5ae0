"""Probes as they run inside a box: their text is sent as a snippet, and nothing here is imported by the host."""
