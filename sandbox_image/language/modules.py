"""The modules that a restricted snippet may import, as data: what each gives away, and what stands in for a part.

A name that is not listed does not exist in the snippet, so no module leads to another one (A11). `name@3.12` exists
from that Python on.
"""

import sys
from dataclasses import dataclass

__all__ = ["MODULES", "STANDARD", "Module", "covered", "is_known", "names_of", "submodules_of"]


@dataclass(frozen=True, slots=True)
class Module:
    """One module as a restricted snippet sees it."""

    names: frozenset[str]
    """What it gives away."""
    stands_in: frozenset[str]
    """Those of its names that are ours: vetted, or taking time and chance from the run."""
    reason: str
    """Why it is harmless, or what was left out."""


def _present(text: str) -> frozenset[str]:
    names = set()
    for word in text.split():
        name, _, since = word.partition("@")
        if not since or sys.version_info[:2] >= tuple(map(int, since.split("."))):
            names.add(name)
    return frozenset(names)


def _module(names: str, reason: str, ours: str = "") -> Module:
    stands_in = _present(ours)
    return Module(_present(names) | stands_in, stands_in, reason)


MODULES: dict[str, Module] = {
    # --- numbers
    "math": _module(
        "acos acosh asin asinh atan atan2 atanh cbrt ceil comb copysign cos cosh degrees dist e erf erfc exp exp2 "
        "expm1 fabs factorial floor fma@3.13 fmod frexp fsum gamma gcd hypot inf isclose isfinite isinf isnan isqrt "
        "lcm ldexp lgamma log log10 log1p log2 modf nan nextafter perm pi pow prod radians remainder sin sinh sqrt "
        "sumprod@3.12 tan tanh tau trunc ulp",
        "arithmetic",
    ),
    "cmath": _module(
        "acos acosh asin asinh atan atanh cos cosh e exp inf infj isclose isfinite isinf isnan log log10 nan nanj "
        "phase pi polar rect sin sinh sqrt tan tanh tau",
        "arithmetic",
    ),
    "numbers": _module("Complex Integral Number Rational Real", "abstract classes"),
    "decimal": _module(
        "BasicContext Clamped Context ConversionSyntax Decimal DecimalException DecimalTuple DefaultContext "
        "DivisionByZero DivisionImpossible DivisionUndefined ExtendedContext FloatOperation Inexact InvalidContext "
        "InvalidOperation MAX_EMAX MAX_PREC MIN_EMIN MIN_ETINY Overflow ROUND_05UP ROUND_CEILING ROUND_DOWN "
        "ROUND_FLOOR ROUND_HALF_DOWN ROUND_HALF_EVEN ROUND_HALF_UP ROUND_UP Rounded Subnormal Underflow getcontext "
        "localcontext setcontext",
        "arithmetic",
    ),
    "fractions": _module("Fraction", "arithmetic"),
    "statistics": _module(
        "NormalDist StatisticsError correlation covariance fmean geometric_mean harmonic_mean kde@3.13 "
        "kde_random@3.13 linear_regression mean median median_grouped median_high median_low mode multimode pstdev "
        "pvariance quantiles stdev variance",
        "arithmetic",
    ),
    "random": _module(
        "betavariate binomialvariate@3.12 choice choices expovariate gammavariate gauss getrandbits getstate "
        "lognormvariate normalvariate paretovariate randbytes randint random randrange sample seed setstate shuffle "
        "triangular uniform vonmisesvariate weibullvariate",
        "seeded for the run, so that a replay draws the same",
        "Random SystemRandom",
    ),
    "secrets": _module(
        "",
        "drawn from the run's seed: good for ids, not for keys that must stay secret",
        ("choice randbelow randbits token_bytes token_hex token_urlsafe compare_digest SystemRandom"),
    ),
    # --- text
    "re": _module(
        "A ASCII DOTALL I IGNORECASE L LOCALE M MULTILINE Match NOFLAG Pattern PatternError@3.13 RegexFlag S U "
        "UNICODE VERBOSE X compile error escape findall finditer fullmatch match purge search split sub subn",
        "patterns; `template`, `Scanner` and the modules behind it are left out",
    ),
    "string": _module(
        "Template ascii_letters ascii_lowercase ascii_uppercase capwords digits hexdigits octdigits printable "
        "punctuation whitespace",
        "Formatter reads attributes by computed names: ours looks at them",
        "Formatter",
    ),
    "textwrap": _module("TextWrapper dedent fill indent shorten wrap", "text"),
    "unicodedata": _module(
        "bidirectional category combining decimal decomposition digit east_asian_width is_normalized lookup mirrored "
        "name normalize numeric unidata_version",
        "text",
    ),
    "difflib": _module(
        "Differ IS_CHARACTER_JUNK IS_LINE_JUNK SequenceMatcher context_diff get_close_matches ndiff restore "
        "unified_diff",
        "text",
    ),
    "ast": _module("literal_eval", "constants from text; trees and compiling are left out"),
    "html": _module("escape unescape", "text"),
    "pprint": _module("PrettyPrinter isreadable isrecursive pformat pp pprint saferepr", "text"),
    "csv": _module(
        "Dialect DictReader DictWriter Error QUOTE_ALL QUOTE_MINIMAL QUOTE_NONE QUOTE_NONNUMERIC QUOTE_NOTNULL@3.12 "
        "QUOTE_STRINGS@3.12 Sniffer excel excel_tab field_size_limit get_dialect list_dialects reader "
        "register_dialect unix_dialect unregister_dialect writer",
        "text; there are no files to open",
    ),
    "io": _module(
        "BytesIO SEEK_CUR SEEK_END SEEK_SET StringIO TextIOBase UnsupportedOperation",
        "memory alone: `open` is left out",
    ),
    "json": _module(
        "JSONDecodeError JSONDecoder JSONEncoder dump dumps load loads",
        "data; `codecs`, `decoder`, `encoder` and `scanner` lead to sys",
    ),
    "base64": _module(
        "a85decode a85encode b16decode b16encode b32decode b32encode b32hexdecode b32hexencode b64decode b64encode "
        "b85decode b85encode decodebytes encodebytes standard_b64decode standard_b64encode urlsafe_b64decode "
        "urlsafe_b64encode z85decode@3.13 z85encode@3.13",
        "bytes",
    ),
    "binascii": _module("Error a2b_base64 a2b_hex b2a_base64 b2a_hex crc32 crc_hqx hexlify unhexlify", "bytes"),
    "struct": _module("Struct calcsize error iter_unpack pack pack_into unpack unpack_from", "bytes"),
    "hashlib": _module(
        "algorithms_available algorithms_guaranteed blake2b blake2s md5 new pbkdf2_hmac scrypt sha1 sha224 sha256 "
        "sha384 sha3_224 sha3_256 sha3_384 sha3_512 sha512 shake_128 shake_256",
        "bytes",
    ),
    "hmac": _module("HMAC compare_digest digest new", "bytes"),
    "zlib": _module("adler32 compress compressobj crc32 decompress decompressobj error", "bytes"),
    "urllib": _module("", "a package: of its modules `parse` alone"),
    "urllib.parse": _module(
        "DefragResult ParseResult SplitResult parse_qs parse_qsl quote quote_from_bytes quote_plus unquote "
        "unquote_plus unquote_to_bytes urldefrag urlencode urljoin urlparse urlsplit urlunparse urlunsplit",
        "text; nothing is fetched",
    ),
    "ipaddress": _module(
        "AddressValueError IPv4Address IPv4Interface IPv4Network IPv6Address IPv6Interface IPv6Network "
        "NetmaskValueError collapse_addresses ip_address ip_interface ip_network summarize_address_range",
        "arithmetic on addresses",
    ),
    # --- time and chance
    "datetime": _module(
        "MAXYEAR MINYEAR UTC date datetime time timedelta timezone tzinfo",
        "`now` is the run's clock; the module is `sys`'s",
    ),
    "time": _module(
        "altzone asctime ctime daylight gmtime localtime mktime strftime strptime struct_time timezone tzname",
        "clocks are the run's, and sleeping is a call that the host answers",
        "monotonic monotonic_ns perf_counter perf_counter_ns process_time process_time_ns sleep thread_time time "
        "time_ns",
    ),
    "calendar": _module(
        "Calendar FRIDAY HTMLCalendar IllegalMonthError IllegalWeekdayError MONDAY SATURDAY SUNDAY TextCalendar "
        "THURSDAY TUESDAY WEDNESDAY calendar day_abbr day_name firstweekday isleap leapdays month month_abbr "
        "month_name monthcalendar monthrange prcal prmonth setfirstweekday timegm weekday weekheader",
        "dates; `sys`, `locale` and `datetime` are left out",
    ),
    "zoneinfo": _module("ZoneInfo ZoneInfoNotFoundError available_timezones", "reads the box's own time zone files"),
    "uuid": _module(
        "NAMESPACE_DNS NAMESPACE_OID NAMESPACE_URL NAMESPACE_X500 UUID uuid3 uuid5",
        "`os` and `sys` are left out; random ids come from the run's seed",
        "uuid1 uuid4",
    ),
    # --- containers and functions
    "collections": _module(
        "ChainMap Counter OrderedDict UserDict UserList  defaultdict deque namedtuple", "containers"
    ),
    "collections.abc": _module(
        "AsyncGenerator AsyncIterable AsyncIterator Awaitable Buffer@3.12 Callable Collection Container Coroutine "
        "Generator Hashable ItemsView Iterable Iterator KeysView Mapping MappingView MutableMapping MutableSequence "
        "MutableSet Reversible Sequence Set Sized ValuesView",
        "abstract classes",
    ),
    "heapq": _module("heapify heappop heappush heappushpop heapreplace merge nlargest nsmallest", "lists"),
    "bisect": _module("bisect bisect_left bisect_right insort insort_left insort_right", "lists"),
    "array": _module("array typecodes", "numbers in a row"),
    "graphlib": _module("CycleError TopologicalSorter", "graphs"),
    "itertools": _module(
        "accumulate batched@3.12 chain combinations combinations_with_replacement compress count cycle dropwhile "
        "filterfalse groupby islice pairwise permutations product repeat starmap takewhile tee zip_longest",
        "iterators",
    ),
    "functools": _module(
        "cache cached_property cmp_to_key lru_cache partial partialmethod reduce",
        "what copies attributes by computed names, or evaluates annotations, is ours (A10)",
        "WRAPPER_ASSIGNMENTS WRAPPER_UPDATES singledispatch singledispatchmethod total_ordering update_wrapper wraps",
    ),
    "operator": _module(
        "abs add and_ call concat contains countOf delitem eq floordiv ge getitem gt iadd iand iconcat ifloordiv "
        "ilshift imatmul imod imul index indexOf inv invert ior ipow irshift is_ is_not isub itemgetter itruediv "
        "ixor le length_hint lshift lt matmul mod mul ne neg not_ or_ pos pow rshift setitem sub truediv truth xor",
        "what reads attributes by computed names is ours (A10)",
        "attrgetter methodcaller",
    ),
    "copy": _module("Error copy deepcopy replace@3.13", "copies; a class says how by __copy__ and __deepcopy__"),
    # --- classes
    "abc": _module(
        "ABC abstractclassmethod abstractmethod abstractproperty abstractstaticmethod", "abstract classes", "ABCMeta"
    ),
    "dataclasses": _module(
        "FrozenInstanceError InitVar KW_ONLY MISSING asdict astuple field fields is_dataclass replace",
        "`inspect`, `sys` and `types` are left out; names of fields are looked at, since code is made of them",
        "dataclass make_dataclass",
    ),
    "enum": _module(
        "CONFORM CONTINUOUS EJECT Enum EnumCheck Flag FlagBoundary IntEnum IntFlag KEEP NAMED_FLAGS ReprEnum STRICT "
        "StrEnum UNIQUE auto member nonmember property unique verify",
        "classes of named values; the metaclass is left out",
    ),
    "types": _module(
        "GenericAlias MappingProxyType NoneType SimpleNamespace UnionType EllipsisType NotImplementedType",
        "what makes functions, code, modules and classes is left out",
    ),
    "typing": _module(
        "AbstractSet Annotated Any AnyStr AsyncContextManager AsyncGenerator AsyncIterable AsyncIterator Awaitable "
        "BinaryIO Callable ChainMap ClassVar Collection Concatenate Container ContextManager Coroutine Counter "
        "DefaultDict Deque Dict Final FrozenSet Generator Generic Hashable IO ItemsView Iterable Iterator KeysView "
        "List Literal LiteralString Mapping MappingView Match MutableMapping MutableSequence MutableSet NamedTuple "
        "Never NewType NoReturn NotRequired Optional OrderedDict ParamSpec ParamSpecArgs ParamSpecKwargs Pattern "
        "Protocol ReadOnly@3.13 Required Reversible Self Sequence Set Sized SupportsAbs SupportsBytes "
        "SupportsComplex SupportsFloat SupportsIndex SupportsInt SupportsRound TYPE_CHECKING Text TextIO Tuple Type "
        "TypeAlias TypeGuard TypeIs@3.13 TypeVar TypeVarTuple TypedDict Union Unpack ValuesView assert_never "
        "assert_type cast final is_typeddict overload override@3.12 reveal_type "
        "runtime_checkable",
        "annotations; what evaluates them from text is left out",
        "get_args get_origin",
    ),
    "contextlib": _module(
        "AbstractAsyncContextManager AbstractContextManager AsyncContextDecorator AsyncExitStack ContextDecorator "
        "ExitStack aclosing asynccontextmanager closing contextmanager nullcontext "
        "suppress",
        "`chdir` and the modules behind it are left out",
        "redirect_stderr redirect_stdout",
    ),
    "contextvars": _module("Context ContextVar Token copy_context", "values of a task"),
    # --- running
    "asyncio": _module(
        "ALL_COMPLETED AbstractEventLoop Barrier BoundedSemaphore BrokenBarrierError CancelledError Condition Event "
        "FIRST_COMPLETED FIRST_EXCEPTION Future InvalidStateError LifoQueue Lock PriorityQueue Queue QueueEmpty "
        "QueueFull QueueShutDown@3.13 Semaphore Task TaskGroup Timeout TimeoutError all_tasks as_completed "
        "create_task current_task gather iscoroutine iscoroutinefunction isfuture shield sleep timeout "
        "timeout_at to_thread wait wait_for wrap_future",
        "processes, sockets, servers, signals and the loop's own rights are left out",
        "ensure_future get_event_loop get_running_loop new_event_loop run run_coroutine_threadsafe set_event_loop",
    ),
    "concurrent": _module("", "a package: of its modules `futures` alone"),
    "concurrent.futures": _module(
        "ALL_COMPLETED BrokenExecutor CancelledError Executor FIRST_COMPLETED FIRST_EXCEPTION Future "
        "InvalidStateError ThreadPoolExecutor TimeoutError as_completed wait",
        "threads alone: processes are left out",
    ),
    "threading": _module(
        "Barrier BoundedSemaphore BrokenBarrierError Condition Event Lock RLock Semaphore Thread ThreadError Timer "
        "active_count current_thread enumerate get_ident local main_thread",
        "tracing and hooks are left out",
    ),
    "queue": _module("Empty Full LifoQueue PriorityQueue Queue ShutDown@3.13 SimpleQueue", "threads"),
    # --- about the snippet itself
    "sys": _module(
        "byteorder float_info getrecursionlimit getsizeof hash_info int_info intern maxsize "
        "maxunicode setrecursionlimit version version_info",
        "a handful of facts: modules, frames and hooks are left out",
        "argv exit platform stdout stderr",
    ),
    "traceback": _module(
        "",
        "shows the snippet's own lines, and gives no frame",
        "format_exc print_exc format_exception format_exception_only print_exception",
    ),
    "warnings": _module("", "shown on stderr, never kept", "warn simplefilter filterwarnings catch_warnings"),
    "__future__": _module(
        "absolute_import annotations division generator_stop generators nested_scopes print_function "
        "unicode_literals with_statement",
        "words of the compiler",
    ),
}
"""Every module that has a façade; what else the standard library has is refused in `restricted`."""

STANDARD = tuple(sorted(name for name in MODULES if name != "__future__" and MODULES[name].names))
"""What a snippet may import where nobody says otherwise."""


def is_known(module: str) -> bool:
    """Whether the restricted language can give the module: it has a façade, or is no part of the standard library.

    The second is for packages that a platform team admits: each is trusted as a whole, nothing of it is checked (A16).
    """
    return module in MODULES or module.partition(".")[0] not in sys.stdlib_module_names


def covered(module: str, imports: frozenset[str]) -> bool:
    """Whether a list of imports covers a module: it is listed, or is only the way to one that is.

    A package that has a façade covers its modules that have one; any other is listed module by module (A16).
    """
    if module in ("tools", "__future__"):
        return True
    if any(each.startswith(f"{module}.") for each in imports):
        return is_known(module)
    return is_known(module) and _listed(module, imports)


def _listed(module: str, imports: frozenset[str]) -> bool:
    parts = module.split(".") if module in MODULES else []
    return module in imports or any(".".join(parts[:length]) in imports for length in range(1, len(parts)))


def submodules_of(module: str, imports: frozenset[str]) -> frozenset[str]:
    """The last parts of the names of the modules below one that the list covers."""
    prefix = f"{module}."
    below = {each for each in imports if each.startswith(prefix)} | _BELOW.get(module, frozenset())
    return frozenset(each[len(prefix) :].partition(".")[0] for each in below if covered(each, imports))


_BELOW = {
    parent: frozenset(each for each in MODULES if each.startswith(f"{parent}."))
    for parent in {each.rpartition(".")[0] for each in MODULES} - {""}
}
"""Package → the modules in it that have a façade."""


def names_of(module: str, imports: frozenset[str]) -> "frozenset[str] | None":
    """The names that can be taken from a module; None where only the box can tell (tools, admitted packages)."""
    if module == "tools" or (module not in MODULES and module in imports):
        return None
    known = MODULES[module].names if module in MODULES else frozenset()
    listed = _listed(module, imports) or module == "__future__"
    return (known if listed else frozenset()) | submodules_of(module, imports)
