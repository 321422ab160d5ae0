"""The language of a snippet, inside the box: guards, vetted modules, and the globals that it runs in."""
