"""Real servers for the tests, started on loopback when first asked for and stopped at the end: PostgreSQL and Spark."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.needs import require, require_module

POSTGRES = [pytest.mark.slow, pytest.mark.xdist_group("postgres")]
"""The marks of a test that needs PostgreSQL: all of them share one worker and so one server."""

SPARK = [
    pytest.mark.slow,
    pytest.mark.xdist_group("spark"),
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::ResourceWarning"),
]
"""The marks of a test that needs Spark; its client warns of what we do not use."""

PASSWORD = "correct-horse-battery"
"""Every role's password; tests look for it where it must not be."""

_NUMBERS = count()


@dataclass(frozen=True)
class Postgres:
    """A running server."""

    port: int
    folder: Path

    def url(self, user: str = "curator", database: str = "shop", **options: str) -> str:
        """Where a client connects."""
        query = "&".join(f"{name}={value}" for name, value in options.items())
        return f"postgresql://{user}:{PASSWORD}@127.0.0.1:{self.port}/{database}" + (f"?{query}" if query else "")

    def sql(self, *statements: str, user: str = "postgres") -> list[tuple[Any, ...]]:
        """Run statements behind everybody's back; the rows of the last one."""
        psycopg = require_module("psycopg")
        with psycopg.connect(self.url(user), autocommit=True) as connection:
            for statement in statements:
                cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def fresh(self, kind: str) -> str:
        """A name nobody used yet."""
        return f"{kind}_{os.getpid()}_{next(_NUMBERS)}"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _as_server() -> dict[str, Any]:
    """PostgreSQL refuses to run as root: as whom then."""
    if os.geteuid() != 0:
        return {}
    import pwd

    account = pwd.getpwnam("postgres")
    return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}


@contextmanager
def running_postgres() -> Iterator[Postgres]:
    """A server in a folder of its own; its roles: postgres, curator (may make schemas), reader (may do nothing yet)."""
    require_module("psycopg")
    initdb, pg_ctl = require("initdb"), require("pg_ctl")
    folder, port, who = Path(tempfile.mkdtemp(prefix="pg-")), _free_port(), _as_server()
    (folder / "password").write_text(PASSWORD)
    for path in (folder, folder / "password"):
        if who:
            os.chown(path, who["user"], who["group"])

    def run(*command: object) -> None:
        done = subprocess.run(
            [*map(str, command)],
            cwd=folder,
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            **who,
        )
        log = folder / "log"
        assert done.returncode == 0, done.stderr + (log.read_text() if log.exists() else "")

    try:
        secret = ("-A", "scram-sha-256", "-U", "postgres", f"--pwfile={folder / 'password'}")
        run(initdb, "-D", folder / "data", "--no-sync", "-E", "UTF8", "--locale=C", *secret)
        options = f"-c listen_addresses=127.0.0.1 -c port={port} -c unix_socket_directories='' -c max_connections=60"
        # The output goes to a file: a server that kept our pipe open would make us wait for it forever.
        run("sh", "-c", f"'{pg_ctl}' -D data -l log -w -t 60 -o \"{options}\" start >start.log 2>&1")
        server = Postgres(port, folder)
        try:
            with require_module("psycopg").connect(server.url("postgres", "postgres"), autocommit=True) as connection:
                for role in ("curator", "reader"):
                    connection.execute(f"CREATE ROLE {role} LOGIN PASSWORD '{PASSWORD}'")
                connection.execute("CREATE DATABASE shop OWNER curator")
            yield server
        finally:
            run(pg_ctl, "-D", folder / "data", "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """The one PostgreSQL of this run."""
    with running_postgres() as server:
        yield server


@contextmanager
def running_cluster(folder: Path) -> Iterator[str]:
    """A standalone Spark cluster on loopback, its master and two workers processes of their own; yields the master's URL."""
    home = Path(require_module("pyspark").__file__).parent
    daemon = {
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "SPARK_LOG_DIR": str(folder),
    }
    started: list[subprocess.Popen[bytes]] = []

    def start(role: str, *options: str) -> Path:
        log = folder / f"{role.rpartition('.')[2]}-{len(started)}.log"
        command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{role}", *options]
        with log.open("wb") as written:
            started.append(
                subprocess.Popen(
                    command,
                    cwd=folder,
                    env=os.environ | daemon,
                    stdin=subprocess.DEVNULL,
                    stdout=written,
                    stderr=written,
                )
            )
        return log

    try:
        master = start("master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        url = _said(master, r"Starting Spark master at (spark://[0-9.:]+)")
        own = (
            "--host",
            "127.0.0.1",
            "--webui-port",
            "0",
            "--cores",
            "1",
            "--memory",
            "1g",
            "--work-dir",
            str(folder / "work"),
        )
        for log in [start("worker.Worker", *own, url) for _ in range(2)]:
            _said(log, r"Successfully registered with master (\S+)")
        yield url
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            process.wait(timeout=60)


def _said(log: Path, words: str) -> str:
    """What a daemon wrote to its log, once it has; it gets two minutes."""
    for _ in range(1200):
        found = re.search(words, log.read_text(errors="replace"))
        if found:
            return found[1]
        time.sleep(0.1)
    raise AssertionError(f"{log.name} does not say {words!r}:\n{log.read_text(errors='replace')[-2000:]}")


@contextmanager
def running_spark(**changed: str) -> Iterator[Any]:
    """Spark with two executors on this machine, each a process of its own; `changed` settings have `_` for `.`."""
    require("java")
    session = require_module("pyspark.sql").SparkSession
    folder = Path(tempfile.mkdtemp(prefix="spark-"))
    before = dict(os.environ)
    os.environ |= {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_WORKER_DIR": str(folder / "work")}
    settings = {
        "spark.master": "local-cluster[2,1,1024]",
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.ansi.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.locality.wait": "0s",  # else a task waits up to three seconds for the executor that has its input, on one machine
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder / "local"),
        "spark.log.level": "OFF",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    settings |= {name.replace("_", "."): value for name, value in changed.items()}
    try:
        builder = session.builder.appName("deniable tests")
        for name, value in settings.items():
            builder = builder.config(name, value)
        spark = builder.getOrCreate()
        try:
            yield spark
        finally:
            spark.stop()
    finally:
        os.environ.clear()
        os.environ.update(before)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """The one Spark of this run: a driver in this process, and a standalone cluster of a master and two workers."""
    require("java")
    folder = Path(tempfile.mkdtemp(prefix="cluster-"))
    try:
        with running_cluster(folder) as url, running_spark(spark_master=url) as session:
            yield session
    finally:
        shutil.rmtree(folder, ignore_errors=True)
