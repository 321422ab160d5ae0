"""Which box a run gets: its limits, and the runtime and image that its contract names, else its host."""

from harness.contract.effective import Effective
from harness.core.errors import EnvironmentUnavailable
from harness.run.state import Parts
from harness.sandbox.backends import Choice
from harness.sandbox.spec import SandboxSpec

__all__ = ["box_spec", "require_backend"]


def box_spec(effective: Effective, parts: Parts) -> SandboxSpec:
    """The spec of a run's boxes. Raises EnvironmentUnavailable where a limit cannot be a box."""
    sandbox = effective.contract.sandbox
    return SandboxSpec.from_limits(
        effective.limits, runtime=sandbox.runtime or parts.runtime, image=sandbox.image or parts.image
    )


def require_backend(effective: Effective, backend: str) -> None:
    """The backend of this host is one that the contract and the policy allow, and means what the contract says.

    Raises EnvironmentUnavailable.
    """
    allowed = tuple(str(each) for each in effective.backends)
    if backend not in allowed:
        named = " or ".join(f"`{each}`" for each in allowed)
        raise EnvironmentUnavailable(
            f"the contract runs on {named}, and this host uses `{backend}`",
            hint="change `sandbox.backend` of the host file or of the contract",
        )
    sandbox = effective.contract.sandbox
    if backend == Choice.BUBBLEWRAP and (sandbox.runtime or sandbox.image):
        setting = "runtime" if sandbox.runtime else "image"
        raise EnvironmentUnavailable(
            f"`sandbox.{setting}` of the contract means nothing to bubblewrap",
            hint=f"leave `{setting}` out, or use the docker backend",
        )
