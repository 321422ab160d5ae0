"""The policy: the organisation's ceilings over every contract. It only narrows what a contract asks.

Where there is no policy file, `BUILT_IN` holds.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated

from pydantic import Field, model_validator

from harness.contract.amounts import Count, Duration, Money, Positive, Seconds, refuse
from harness.contract.sections import Name, Section, Text, Whole
from harness.contract.tool import ToolContract
from harness.contract.words import FILE, BackendName, Language
from harness.core.budget import Amount, Dimension, Metered
from harness.core.call import Approval, Effect, Json
from harness.core.canonical import digest
from sandbox_image.language.modules import STANDARD

__all__ = [
    "BUILT_IN",
    "STANDARD_MODULES",
    "ApprovalByEffect",
    "Approver",
    "Ceilings",
    "Policy",
    "SecretRule",
]

STANDARD_MODULES = tuple(name for name in sorted(STANDARD) if name not in ("operator", "sys"))
"""What ordinary snippets import, and what gives no way out of the box: the modules that `restricted` has vetted.

`operator` and `sys` are left to policies that name them: in `plain` they are the real ones (A10, A11).
"""


class Ceilings(Section):
    """The most that a contract may state, and what one gets that states nothing."""

    tokens: Count = 5_000_000
    """A long session of a large model."""
    cost_usd: Money = Decimal("25")
    """A mistake that one person can answer for."""
    wall_seconds: Seconds = 3_600.0
    """An hour: longer work should pause, not hold a box."""
    retries: Count = 100
    iterations: Positive = 100
    """Agents that need more are stuck."""
    calls: Count = 20_000
    """Twice the largest table that is worth going through call by call."""
    cpu_seconds: Seconds = 300.0
    """Ordering calls takes little; this is for data that is worked through in the box."""
    memory_mb: Positive = 1_024
    """MiB; eight such boxes fit a small host."""
    pids: Positive = 128
    """Processes and threads."""
    disk_mb: Positive = 256
    """MiB of work files, which count as memory."""
    output_bytes: Count = 10_000_000
    """Printed text."""
    result_bytes: Count = 8_000_000
    """Just under the largest frame."""
    journal_bytes: Count = 500_000_000

    def limit(self, dimension: Dimension) -> Amount:
        """The ceiling of a dimension, in its unit."""
        amount: Amount = getattr(self, dimension.value)
        return amount


class ApprovalByEffect(Section):
    """Who must say yes, by what a call changes."""

    read: Approval = Approval.NONE
    write: Approval = Approval.NONE
    destructive: Approval = Approval.BEFORE_EXECUTE

    def of(self, effect: Effect) -> Approval:
        """The rule for an effect."""
        approval: Approval = getattr(self, effect.value)
        return approval


class Approver(Section):
    """A person who may decide bundles."""

    name: Text
    keys: tuple[Text, ...] = Field(min_length=1)
    """Public keys as OpenSSH writes them: `ssh-ed25519 AAAA…`."""
    effects: tuple[Effect, ...] = (Effect.READ, Effect.WRITE, Effect.DESTRUCTIVE)
    """What this person may approve."""
    answers_for: tuple[Text, ...] = ()
    """Owners named by contracts, beside their own name, whose questions this person may answer."""

    def may_answer(self, owner: str) -> bool:
        """Whether a question that is put to `owner` is this person's to answer; empty: to any approver."""
        return not owner or owner == self.name or owner in self.answers_for

    @model_validator(mode="after")
    def _public(self) -> "Approver":
        for key in self.keys:
            if not key.startswith("ssh-ed25519 "):
                raise refuse(
                    "bad_key", f"a key of `{self.name}` is no ssh-ed25519 public key", "use `ssh-keygen -t ed25519`"
                )
        return self


class SecretRule(Section):
    """Where a secret may stand."""

    fields: tuple[Text, ...] = ()
    """`destination`, `webhook`, or `TOOL.ARGUMENT`-like names of tool sources."""
    hosts: tuple[Text, ...] = ()
    """Hosts that it may be sent to; none means any that the field reaches."""


class Policy(Whole):
    """The rules of a platform team. Versions only go up."""

    policy: Name
    """Its id."""
    version: Positive
    ceilings: Ceilings = Ceilings()
    effects: tuple[Effect, ...] = (Effect.READ, Effect.WRITE, Effect.DESTRUCTIVE)
    """Effects of tools that may ever be listed."""
    tools: tuple[Text, ...] | None = None
    """Tools that may ever be listed, by their whole wire names; None: all of the host."""
    approval: ApprovalByEffect = ApprovalByEffect()
    tool_approval: Mapping[str, Approval] = Field(default_factory=dict)
    """Stricter rules for single tools."""
    approvers: tuple[Approver, ...] = ()
    approvals_needed: Positive = 1
    """Different approvers that a destructive call needs."""
    grants: bool = False
    """Whether an approver may give a bounded grant."""
    callers: Mapping[str, tuple[Text, ...]] = Field(default_factory=dict)
    """Principals by contract; a contract that is not named is open to every principal."""
    claims: Mapping[str, Mapping[str, Json]] = Field(default_factory=dict)
    """Claims of the operating system's users, for the command line."""
    backends: tuple[BackendName, ...] = (BackendName.DOCKER, BackendName.BUBBLEWRAP)
    runtimes: tuple[Text, ...] = ()
    """Engine runtimes beside the default one."""
    images: tuple[Text, ...] = ()
    """Digests of images beside the harness's own."""
    languages: Annotated[tuple[Language, ...], Field(min_length=1)] = (Language.RESTRICTED, Language.PLAIN)
    """The first is what a contract gets that states none."""
    imports: tuple[Text, ...] = STANDARD_MODULES
    """Modules that a contract may list; what it gets that states none."""
    destinations: tuple[Text, ...] = (FILE,)
    """Kinds of destinations, or beginnings of their URLs."""
    secrets: Mapping[str, SecretRule] = Field(default_factory=dict)
    """Secrets that contracts may name."""
    private_hosts: tuple[Text, ...] = ()
    """Private and link-local hosts that the harness's own HTTP may reach."""
    max_read_age: Duration | None = None
    """Seconds: older reads behind an approval make the harness ask again; None: any age."""
    metered: Mapping[Dimension, tuple[Metered, ...]] = Field(default_factory=dict)
    """How a dimension must be metered for a run to count."""
    mask_unlabelled: bool = False
    """Whether fields without a label are masked too."""

    def approval_for(self, tool: ToolContract) -> Approval:
        """What the policy asks for calls of a tool: the stricter of its effect's rule and its own."""
        own = self.tool_approval.get(tool.name, Approval.NONE)
        return max(own, self.approval.of(tool.effect), key=lambda each: each.strictness)

    def allows_tool(self, tool: ToolContract) -> bool:
        """Whether a contract may list the tool."""
        return tool.effect in self.effects and (self.tools is None or tool.name in self.tools)

    def allows_destination(self, url: str, kind: str) -> bool:
        """Whether a result may go to a URL: its kind is listed, or the beginning of the URL is."""
        return any(each == kind or (":" in each and _begins(url, each)) for each in self.destinations)

    @property
    def digest(self) -> str:
        """SHA-256 hex over what is stated. Raises HostileInput where a value has no JSON form."""
        return digest(self.stated())


def _begins(url: str, beginning: str) -> bool:
    """Whether a URL begins so, by whole segments: `s3://results` does not allow `s3://results-of-others`."""
    if not url.startswith(beginning) or "/.." in url:
        return False
    return beginning[-1] in "/:#?" or url[len(beginning) :][:1] in ("", "/", "#", "?")


BUILT_IN = Policy(policy="built-in", version=1)
"""Where there is no policy file: listed reads and writes are allowed, destructive calls ask a person, the ceilings
above hold, files below the host's folder are the only destination, and no secret may stand in a contract."""
