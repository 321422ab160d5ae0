"""Where the Docker engine listens: DOCKER_HOST, else the chosen context, else the usual sockets. Opens nothing."""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from harness.core.errors import EnvironmentUnavailable

__all__ = ["Endpoint", "find_endpoint"]

SYSTEM_SOCKET = "/var/run/docker.sock"
PLAIN_PORT, TLS_PORT = 2375, 2376
"""The engine's registered ports."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An engine's address."""

    url: str
    """`unix:///path` or `tcp://host:port`."""
    source: str
    """Who named it, for messages: `DOCKER_HOST`, ``the docker context `x` ``, `the default`."""
    certificates: str = ""
    """Folder with `ca.pem`, `cert.pem`, `key.pem`; empty without TLS."""
    verify: bool = True
    """Whether the engine's certificate is checked; only with `certificates`."""

    @property
    def socket(self) -> str:
        """The path of a Unix socket; empty for TCP."""
        return urlsplit(self.url).path if self.url.startswith("unix://") else ""

    @property
    def address(self) -> tuple[str, int]:
        """Host and port; empty and 0 for a Unix socket."""
        parts = urlsplit(self.url)
        if parts.scheme != "tcp":
            return "", 0
        return parts.hostname or "", parts.port or (TLS_PORT if self.certificates else PLAIN_PORT)

    def __str__(self) -> str:
        return f"`{self.url}` ({self.source})"


def find_endpoint(environ: Mapping[str, str] | None = None, host: str = "") -> Endpoint:
    """The engine that this user means: `host` where given, else as the docker command decides.

    Raises EnvironmentUnavailable where the setting names a context that does not exist or a way that is not spoken.
    """
    env = os.environ if environ is None else environ
    if host:
        return _checked(host, "the host file", env)
    if env.get("DOCKER_HOST"):
        return _checked(env["DOCKER_HOST"], "DOCKER_HOST", env)
    config = Path(env.get("DOCKER_CONFIG") or Path(env.get("HOME") or "/nonexistent", ".docker"))
    context = env.get("DOCKER_CONTEXT") or _current_context(config)
    if context and context != "default":
        return _from_context(config, context, env)
    return _checked(f"unix://{_usual_socket(env)}", "the default", env)


def _checked(url: str, source: str, env: Mapping[str, str], certificates: str = "", verify: bool = True) -> Endpoint:
    """The endpoint where its address can be spoken to."""
    parts = urlsplit(url)
    if parts.scheme == "unix" and parts.path:
        return Endpoint(f"unix://{parts.path}", source)
    if parts.scheme in ("tcp", "http", "https") and parts.hostname:
        if not certificates and env.get("DOCKER_TLS_VERIFY"):
            home = env.get("HOME") or "/nonexistent"
            certificates = env.get("DOCKER_CERT_PATH") or str(Path(home, ".docker"))
        return Endpoint(f"tcp://{parts.netloc}", source, certificates, verify)
    if parts.scheme == "ssh":
        raise EnvironmentUnavailable(
            f"{source} names the engine `{url}`, and the harness does not speak to engines over ssh",
            hint="forward its socket: ssh -nNT -L /tmp/engine.sock:/var/run/docker.sock HOST, "
            "then DOCKER_HOST=unix:///tmp/engine.sock",
        )
    raise EnvironmentUnavailable(
        f"{source} names the engine `{url}`, which is no address of an engine",
        hint="write unix:///PATH or tcp://HOST:PORT, or unset it to take the default",
    )


def _from_context(config: Path, name: str, env: Mapping[str, str]) -> Endpoint:
    key = hashlib.sha256(name.encode()).hexdigest()
    source = f"the docker context `{name}`"
    try:
        found = json.loads((config / "contexts" / "meta" / key / "meta.json").read_text())
        engine = found["Endpoints"]["docker"]
        host, unchecked = str(engine["Host"]), bool(engine.get("SkipTLSVerify", False))
    except FileNotFoundError:
        raise EnvironmentUnavailable(
            f"{source} does not exist",
            hint="see `docker context ls`; choose one with DOCKER_CONTEXT or `docker context use default`",
        ) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise EnvironmentUnavailable(
            f"{source} cannot be read: {type(error).__name__}", hint="make it again, or `docker context use default`"
        ) from error
    certificates = config / "contexts" / "tls" / key / "docker"
    return _checked(host, source, env, str(certificates) if certificates.is_dir() else "", not unchecked)


def _current_context(config: Path) -> str:
    try:
        named = json.loads((config / "config.json").read_text()).get("currentContext", "")
    except (OSError, ValueError, AttributeError):
        return ""
    return named if isinstance(named, str) else ""


def _usual_socket(env: Mapping[str, str]) -> str:
    """The system's socket, or the rootless or desktop one where only that exists."""
    candidates = [SYSTEM_SOCKET]
    if env.get("XDG_RUNTIME_DIR"):
        candidates.append(f"{env['XDG_RUNTIME_DIR']}/docker.sock")
    if env.get("HOME"):
        candidates.append(f"{env['HOME']}/.docker/run/docker.sock")
    return next((path for path in candidates if os.path.exists(path)), SYSTEM_SOCKET)
