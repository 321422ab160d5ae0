"""The restricted language: looks at every node of a snippet, and puts guards where a node's meaning depends on an object.

It stands on RestrictedPython's transformer, whose refusal of unknown nodes it keeps and whose guards it makes thinner;
which, and why that is safe, is argued in docs/decisions/0005-thin-guards.md.
"""

import ast
import importlib.metadata
from collections.abc import Callable, Collection
from functools import cache
from typing import Any

from RestrictedPython.transformer import RestrictingNodeTransformer

from sandbox_image.language.builtin_names import REFUSED
from sandbox_image.language.names import GUARDED, LIBRARY_PRIVATE, OPAQUE, OWN, READ, READABLE, TYPE, WRITE, is_special
from sandbox_image.language.names import CHANGEABLE

from harness.core.errors import Fault
from harness.language.faults import Faults
from harness.language.imports import ImportRules
from harness.language.policy import KINDS, REFUSED_KINDS, Treatment
from harness.language.scopes import Scope, owner_scope
from harness.language.survey import Survey
from harness.language.wording import Names
