"""Where secrets stand in a host file's webhook, and whether the policy lets them. Pure; no value is ever here."""

from collections.abc import Iterator

from harness.contract.host import HostFile
from harness.contract.policy import Policy
from harness.contract.references import Root, references
from harness.core.errors import Fault, Place

__all__ = ["announce_faults", "announce_hosts"]

FIELD = "webhook"


def announce_faults(host: HostFile, policy: Policy) -> Iterator[Fault]:
    """Each reference of `announce` that is no secret of the host, or one that the policy does not let stand there."""
    place = Place(key="announce")
    for reference in references(host.announce):
        if reference.root is not Root.SECRET:
            said = f"`{reference.text}` cannot stand in `announce`"
            yield Fault("bad_reference", said, "a host's webhook takes `${secret:NAME}` alone", place)
            continue
        (name,) = reference.path
        if name not in host.secrets:
            said = f"the host file has no secret `{name}`"
            yield Fault("unknown_secret", said, f"write `secrets: {{{name}: …}}`", place)
        rule = policy.secrets.get(name)
        if rule is None or FIELD not in rule.fields:
            said = f"the policy `{policy.policy}` does not let `{reference.text}` stand in a {FIELD}"
            hint = f"list it under `secrets` of the policy, with the field `{FIELD}`"
            yield Fault("secret_not_allowed", said, hint, place)


def announce_hosts(host: HostFile, policy: Policy) -> frozenset[str] | None:
    """Hosts that the webhook may lie at: what every secret in it allows; None where nothing bounds them."""
    found: frozenset[str] | None = None
    for reference in references(host.announce):
        rule = policy.secrets.get(reference.path[0]) if reference.root is Root.SECRET else None
        if rule is not None and rule.hosts:
            found = frozenset(rule.hosts) if found is None else found & frozenset(rule.hosts)
    return found
