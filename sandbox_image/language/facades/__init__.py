"""Façades: what stands in place of the standard library's modules, made from the table in `modules.py`."""
