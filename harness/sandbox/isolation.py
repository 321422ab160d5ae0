"""What every box keeps, whatever its limits: one line each, with how it is held, against what, and the test that tries.

The numbers are `spec.SETTINGS`; the system calls are `seccomp.RULES`.
"""

from dataclasses import dataclass

__all__ = ["WALLS", "Wall"]


@dataclass(frozen=True, slots=True)
class Wall:
    """One line that a reviewer can sign."""

    name: str
    """Stable; what a selftest's probe is called after."""
    holds: str
    """What is true in every box."""
    docker: str
    """How the docker backend holds it."""
    bubblewrap: str
    """How the embedded backend holds it, cold and from a slot."""
    threat: str
    """What happens without it."""
    test: str
    """The function in tests/sandbox/test_box.py or test_pool.py that tries the opposite in a live box."""


WALLS: tuple[Wall, ...] = (
    Wall(
        "network",
        "no network, not even loopback; no new socket of any family",
        "network mode `none`; the inner filter takes socket and connect away",
        "a network namespace of its own with nothing up; neither filter has socket or connect",
        "sending what was read to anybody; reaching services of the host that trust their neighbours",
        "test_no_way_out_through_a_system_call",
    ),
    Wall(
        "root",
        "the root file system is read-only and holds Python alone",
        "read-only root of an image that was stripped",
        "a read-only bind of a tree made of this host's Python",
        "changing what the next box runs",
        "test_nothing_can_be_written_but_the_work_folder",
    ),
    Wall(
        "work",
        "one folder can be written: a tmpfs with a size, gone with the box",
        "tmpfs on /tmp with size and no devices, setuid or exec",
        "tmpfs on /tmp with size and files counted, no devices, setuid or exec",
        "filling the host's disk; leaving something for the next run",
        "test_a_full_work_folder_says_so",
    ),
    Wall(
        "devices",
        "/dev/null is the only device that opens",
        "the engine's /dev, of which Landlock leaves /dev/null",
        "a /dev with one bind, then read-only",
        "drivers are a large part of the kernel",
        "test_the_box_sees_nothing_of_the_host",
    ),
    Wall(
        "proc",
        "nothing of /proc or /sys can be read",
        "Landlock leaves the tree's own folders",
        "not mounted; a slot's is covered before it is confined",
        "other processes' memory and environment, host paths, the kernel's secrets",
        "test_the_box_sees_nothing_of_the_host",
    ),
    Wall(
        "environment",
        "the environment is empty",
        "emptied before the box says hello",
        "bubblewrap itself is started with none; emptied again before the box says hello",
        "tokens and addresses that the host's environment holds",
        "test_the_box_sees_nothing_of_the_host",
    ),
    Wall(
        "descriptors",
        "descriptors 0, 1 and 2 are /dev/null, and one more is the channel",
        "the others are closed first of all",
        "the others are closed first of all",
        "files and sockets of the host that a parent left open; the engine's log as a way out",
        "test_the_box_sees_nothing_of_the_host",
    ),
    Wall(
        "user",
        "a user without rights, inside and outside",
        "a numeric user; never root",
        "a user namespace with one user; a host that runs as root gives each cold box and each zygote its own",
        "root inside is root for everything that the namespaces forgot",
        "test_the_box_sees_nothing_of_the_host",
    ),
    Wall(
        "capabilities",
        "no capability in any set",
        "all dropped",
        "all dropped; a slot drops what its new user namespace gave it",
        "mounting, tracing, changing network and users",
        "test_no_way_out_through_a_system_call",
    ),
    Wall(
        "privileges",
        "nothing that is executed gains rights; nothing new is executed at all",
        "no-new-privileges; the inner filter takes execve away",
        "no-new-privileges; the inner filter takes execve away",
        "setuid programs",
        "test_no_way_out_through_a_system_call",
    ),
    Wall(
        "tracing",
        "no process of the box can read or change another one's memory",
        "dumpable off, which the inner filter makes final; no ptrace, no process_vm_readv",
        "dumpable off, which the inner filter makes final; no ptrace, no process_vm_readv",
        "taking the runner over from a child",
        "test_no_way_out_through_a_system_call",
    ),
    Wall(
        "filter",
        "every system call that no line of the list names is refused, on every thread",
        "the outer list as the engine's profile, then the inner filter",
        "the outer list from the first instruction, then the inner filter",
        "the kernel's less walked paths: io_uring, bpf, keys, userfaultfd, namespaces",
        "test_no_way_out_through_a_system_call",
    ),
    Wall(
        "paths",
        "Landlock, where the kernel has it: reading the tree, working in the work folder, no TCP, no signal outward",
        "installed by the box; required where the box runs under this host's kernel",
        "installed by the box; required where the kernel has it",
        "a mount that should not be there",
        "test_nothing_can_be_written_but_the_work_folder",
    ),
    Wall(
        "tree",
        "the first process is the first of a process namespace: all end with it, from outside, at once",
        "SIGKILL to the first process by the host, else the engine's kill",
        "SIGKILL to the first process by its descriptor",
        "double forks, new sessions and ignored signals outlive a run",
        "test_no_descendant_outlives_the_box",
    ),
    Wall(
        "neighbours",
        "no box sees another one: processes, files, shared memory, names, groups",
        "a container each",
        "namespaces of its own for each, slots too; a control group for each where there can be one",
        "one run reads, signals or starves another",
        "test_neighbours_do_not_see_each_other",
    ),
    Wall(
        "one-run",
        "a box serves one run's iteration",
        "single use",
        "single use; a zygote never holds anything of a run",
        "what one run leaves in its interpreter, the next one trusts",
        "test_each_run_gets_a_slot_of_its_own",
    ),
)
"""In the order in which a reviewer would ask."""
