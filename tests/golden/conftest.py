import pathlib
import select
import subprocess
import sys

import pytest

import programs

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

from tidy import pytest_runtest_makereport, tmp_path  # noqa: E402, F401

TIMEOUT_S = 300


def pytest_addoption(parser):
    parser.addoption("--one-each", action="store_true",
                     help="only the first set of parameters of each test (make asan)")


def pytest_collection_modifyitems(config, items):
    if config.getoption("--one-each"):
        first = {}
        for item in items:
            first.setdefault((item.path, item.originalname), item)
        config.hook.pytest_deselected(items=[item for item in items if item not in first.values()])
        items[:] = first.values()


class ManyRuns:
    """Runs of `edgectl process` in one process: to start one takes longer than most pictures do."""

    def __init__(self, errors):
        self.errors = errors
        self.process = None

    def __call__(self, *words):
        """Runs it with the given words and returns what it left behind."""
        if not self.process:
            self.start()
        before = self.errors.stat().st_size
        self.process.stdin.write("\t".join(["process", *map(str, words)]) + "\n")
        self.process.stdin.flush()
        answered, _, _ = select.select([self.process.stdout], [], [], TIMEOUT_S)
        status = self.process.stdout.readline() if answered else ""
        text = self.errors.read_bytes()[before:].decode()
        if not status:
            self.process.kill()
            ended, self.process = self.process.wait(), None
            pytest.fail(f"{words}: exit status {ended}, or no answer in {TIMEOUT_S} s\n{text}")
        return subprocess.CompletedProcess(words, int(status), "", text)

    def start(self):
        built = [path.exists() and path.stat().st_mtime
                 for path in (programs.LIBRARY, programs.PROCESS_MANY)]
        if not 0 < built[0] <= built[1]:
            pytest.fail(f"{programs.PROCESS_MANY} is missing or old: make check-golden builds it")
        self.process = subprocess.Popen([programs.PROCESS_MANY], stdin=subprocess.PIPE, text=True,
                                        stdout=subprocess.PIPE, stderr=self.errors.open("a"))

    def finish(self):
        if self.process:
            self.process.communicate()
            assert self.process.returncode == 0, self.errors.read_text()


@pytest.fixture(scope="session")
def process(tmp_path_factory):
    """Runs `edgectl process` with the given words and returns what it left behind."""
    runs = ManyRuns(tmp_path_factory.mktemp("process") / "errors")
    yield runs
    runs.finish()


@pytest.fixture
def edgectl_process():
    """The same, by the program itself."""

    def run(*words):
        command = [str(programs.EDGECTL), "process", *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)

    return run
