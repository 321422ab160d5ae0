"""`harness selftest`: tries the opposite of every wall inside live boxes."""
