"""Who may open a connection.  Everything that goes out passes the guard, except what is listed here with its reason."""

from __future__ import annotations

import ast
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "vedette"
NETWORK = set(
    "socket ssl smtplib ftplib aiohttp aiodns pycares requests httpx apprise psycopg redis obstore".split()
)
NETWORK |= {"http.client", "http.server", "urllib.request"}
CALLS = {"open_connection", "start_server", "create_connection", "create_server"}
ALLOWED = {
    # guarded: the connector gets its sockets from `guard.py`, and nowhere else
    "fetch/guard.py": {"socket"},
    "fetch/resolver.py": {"socket", "aiohttp", "aiodns", "pycares"},
    "fetch/connections.py": {"aiohttp", "ssl"},
    "fetch/far_end.py": {"aiohttp"},
    "fetch/socks.py": {"socket", "aiohttp"},
    "fetch/http.py": {"aiohttp"},
    "fetch/heads.py": {"aiohttp"},
    "fetch/faults.py": {"aiohttp", "ssl"},
    # the operator's own infrastructure: a mail server, the services of Apprise
    "notify/mail.py": {"smtplib", "ssl"},
    "notify/channels.py": {"apprise"},
    "app/channels.py": {"ssl"},
    # and databases
    "jobs/bullmq_package.py": {"redis"},  # the server of the queues, named by the operator
    "store/panel/redis_board.py": {"redis"},
    "store/dialect.py": {"psycopg"},
    "evidence/object_files.py": {"obstore"},  # the bucket of `evidence.storage`
    "store/postgres.py": {"psycopg", "socket"},  # the name of this machine, for the lock
    # listens, on loopback unless a token is set
    "surface/http/server.py": {"create_server", "socket"},
    "surface/http/service_pages.py": {"socket"},
    "surface/cli/demo_page.py": {"socket"},
    # the name of this machine, for the lock
    "app/process.py": {"socket"},
    "app/open_store.py": {"socket"},
    "app/stage_worker.py": {"socket"},
    "app/worker.py": {"socket"},
    "app/panel_resources.py": {"socket"},
}


def uses(path: Path) -> set[str]:
    """Modules that can reach a network, and calls that open a line."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {part for alias in node.names for part in _parts(alias.name)}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found |= _parts(node.module or "")
        elif isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            texts = {one.value for one in node.args if isinstance(one, ast.Constant)}
            found |= ({name} & CALLS) | (texts & NETWORK if name == "import_module" else set())
    return found


def _parts(name: str) -> set[str]:
    return {name, name.partition(".")[0]} & NETWORK


def test_nobody_opens_a_connection_who_is_not_listed_with_a_reason():
    files = {
        str(path.relative_to(PACKAGE)): path
        for path in PACKAGE.rglob("*.py")
        if "livingweb" not in path.parts
    }
    found = {name: used for name, path in files.items() if (used := uses(path))}
    assert {
        name: used - ALLOWED.get(name, set())
        for name, used in found.items()
        if used - ALLOWED.get(name, set())
    } == {}


def test_the_list_has_no_one_who_does_not_need_it():
    assert {
        name: words - uses(PACKAGE / name) for name, words in ALLOWED.items() if words - uses(PACKAGE / name)
    } == {}


SHELLS = {"os.system", "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput"}


def test_no_shell_is_started_anywhere():
    """003: programs that we start get a list of arguments; nothing of a page or an answer is read by a shell."""
    found = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                name = ast.unparse(node.func)
                asks = any(
                    word.arg == "shell" and ast.unparse(word.value) != "False" for word in node.keywords
                )
                if asks or name in SHELLS or name.endswith("create_subprocess_shell"):
                    found.add(f"{path.name}:{node.lineno}")
    assert found == set()
