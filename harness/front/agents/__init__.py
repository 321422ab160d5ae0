"""Other agents: tool definitions for provider formats, answers for transcripts, and small adapters for frameworks."""
