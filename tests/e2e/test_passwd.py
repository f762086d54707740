"""edgectl passwd writes the users that edged takes, and shows nobody a password."""

import hashlib
import os
import pty
import signal
import subprocess

import pytest

from daemon import EDGECTL, PATIENCE_S, environment, run_edged, wait_for
from edgectl import on_terminal

PASSWORD = "correct horse:ü"


def passwd(*arguments, password=PASSWORD):
    return subprocess.run(
        [EDGECTL, "passwd", *arguments], input=f"{password}\n".encode(), env=environment(),
        capture_output=True, timeout=PATIENCE_S, check=False,
    )


def line(name, role, password=PASSWORD):
    """A user by Python's hashes: RFC 7616, section 3.4.2, in the realm edged."""
    secret = f"{name}:edged:{password}".encode()
    return f"{name}:{role}:{hashlib.md5(secret).hexdigest()}:{hashlib.sha256(secret).hexdigest()}"


def users(path):
    return [user for user in path.read_text().splitlines() if not user.startswith("#")]


@pytest.fixture
def file(tmp_path):
    return tmp_path / "rtsp.users"


def test_users_are_made_changed_and_removed(file):
    for arguments in (["vera"], ["--role", "admin", "anna"], ["otto", "--role=operator"]):
        assert passwd("--file", file, *arguments).returncode == 0
    assert users(file) == [line("vera", "viewer"), line("anna", "admin"), line("otto", "operator")]
    assert file.stat().st_mode & 0o7777 == 0o600
    assert passwd("--file", file, "anna", password="another one").returncode == 0
    assert users(file)[1] == line("anna", "admin", "another one")  # keeps her role and place
    assert passwd("--file", file, "anna", "--role", "viewer").returncode == 0
    assert users(file)[1] == line("anna", "viewer")
    removed = passwd("--file", file, "--remove", "vera")
    assert removed.returncode == 0, removed.stderr
    assert users(file) == [line("anna", "viewer"), line("otto", "operator")]
    again = passwd("--file", file, "--remove", "vera")
    assert again.returncode == 1
    assert f'edgectl: {file}: there is no user "vera"' in again.stderr.decode()
    assert [path.name for path in file.parent.iterdir()] == ["rtsp.users"]


def test_the_last_user_stays(file):
    """A running edged refuses a file without users."""
    assert passwd("--file", file, "vera").returncode == 0
    before = file.read_text()
    refused = passwd("--file", file, "--remove", "vera")
    assert refused.returncode == 1
    assert '"vera" is the last user' in refused.stderr.decode()
    assert "make another user first, or take rtsp.users out of edged.conf" in refused.stderr.decode()
    assert file.read_text() == before


def test_comments_order_and_owner_stay_and_the_mode_is_made_right(file):
    file.write_text(f"# mine\n\n{line('b', 'admin')}\n  # between\n \t{line('a', 'viewer')}")
    file.chmod(0o644)
    if os.geteuid() == 0:
        os.chown(file, 4711, 4712)
    before = file.stat()
    assert passwd("--file", file, "b").returncode == 0
    assert passwd("--file", file, "c").returncode == 0
    assert file.read_text() == (
        f"# mine\n\n{line('b', 'admin')}\n  # between\n \t{line('a', 'viewer')}\n"
        f"{line('c', 'viewer')}\n"
    )
    after = file.stat()
    assert (after.st_uid, after.st_gid) == (before.st_uid, before.st_gid)
    assert after.st_mode & 0o7777 == 0o600


def test_a_link_goes_on_to_be_one(file, tmp_path):
    target = tmp_path / "target"
    assert passwd("--file", target, "vera").returncode == 0
    file.symlink_to(target)
    assert passwd("--file", file, "otto").returncode == 0
    assert file.is_symlink()
    assert users(target) == [line("vera", "viewer"), line("otto", "viewer")]


@pytest.mark.parametrize(
    "password, message",
    [
        ("1234567", "the password has 7 characters, allowed: at least 8"),
        ("üüüü", "the password has 4 characters, allowed: at least 8"),
        ("x" * 129, "the password has 129 bytes, allowed: at most 128"),
        ("x" * 2000, "the password has 2000 bytes, allowed: at most 128"),
        ("tab\tinside it", "the password has a control character in it"),
        ("byte\0zero...", "the password has a control character in it"),
    ],
)
def test_a_password_that_is_not_allowed_changes_nothing(file, password, message):
    result = passwd("--file", file, "vera", password=password)
    assert result.returncode == 1
    assert result.stderr.decode() == f"edgectl: {message}\n"
    assert not file.exists()


@pytest.mark.parametrize("password", [
    "password", "Password1!", "P4ssw0rd", "passwordpassword", "12345678", "1234567890", "87654321",
    "aaaaaaaa", "abcdefgh", "qwertzuiop", "admin123", "vera.cruz", "VERA.CRUZ1", "vera.cruz2026!",
    "vera.cruzvera.cruz", "edged123", "edgededged", "camera2026", "1q2w3e4r",
])  # fmt: skip
def test_a_password_that_strangers_try_first_is_refused_with_the_rule(file, password):
    result = passwd("--file", file, "vera.cruz", password=password)
    assert result.returncode == 1
    assert "allowed: none of the commonest passwords, and neither" in result.stderr.decode()
    assert not file.exists()


@pytest.mark.parametrize("password", [
    "correct horse", "veras secret", "my edged camera", "k7!xPq2v", "94731058", "passwords of mine",
])  # fmt: skip
def test_a_password_that_only_holds_such_a_word_is_taken(file, password):
    assert passwd("--file", file, "vera", password=password).returncode == 0


def test_what_is_no_command_line_is_explained(file):
    for arguments, message in (
        (["vera", "a password"], "passwd takes one user, and asks for the password"),
        ([], "passwd takes one user, and asks for the password"),
        (["v:era"], 'user "v:era": allowed are 1 to 32 of the characters A-Z a-z 0-9 . _ @ -'),
        (["--role", "boss", "vera"], '--role "boss": allowed are viewer, operator, admin'),
        (["--remove", "--role", "admin", "vera"], "passwd takes no --role with --remove"),
    ):
        result = passwd("--file", file, *arguments)
        assert result.returncode == 2
        assert message in result.stderr.decode()
    assert not file.exists()


def test_no_password_at_all_is_an_error(file):
    result = subprocess.run(
        [EDGECTL, "passwd", "--file", file, "vera"], stdin=subprocess.DEVNULL, env=environment(),
        capture_output=True, timeout=PATIENCE_S, check=False,
    )
    assert result.returncode == 1
    assert "no password was given" in result.stderr.decode()
    assert not file.exists()


def test_a_broken_file_is_left_as_it_is(file):
    file.write_text(f"{line('vera', 'viewer')}\notto\n")
    before = file.read_text()
    for arguments in (["vera"], ["--remove", "vera"]):
        result = passwd("--file", file, *arguments)
        assert result.returncode == 1
        assert f"{file}:2: expected four fields" in result.stderr.decode()
    assert file.read_text() == before


def test_the_configuration_says_which_file(tmp_path):
    config = tmp_path / "edged.conf"
    config.write_text('rtsp = { address = "0.0.0.0";\n users = "who.users"; };\n')
    refused = run_edged("--config", config, "--check")
    assert refused.returncode == 1  # until the file is there
    assert (
        f'{config}:2: error: rtsp.users: cannot read "{tmp_path}/who.users": No such file or '
        "directory; `edgectl passwd NAME` makes it\n" == refused.stderr
    )
    assert passwd("--config", config, "vera").returncode == 0
    assert users(tmp_path / "who.users") == [line("vera", "viewer")]
    checked = run_edged("--config", config, "--check")
    assert (checked.returncode, checked.stderr) == (0, "")
    config.write_text("")
    unnamed = passwd("--config", config, "vera")
    assert users(tmp_path / "rtsp.users") == [line("vera", "viewer")]
    assert f'rtsp = {{ users = "{tmp_path}/rtsp.users"; }}' in unnamed.stderr.decode()


def test_mistakes_in_the_file_are_told_by_check(tmp_path, file):
    config = tmp_path / "edged.conf"
    config.write_text(f'rtsp = {{ users = "{file}"; }};\n')
    assert passwd("--file", file, "vera").returncode == 0
    file.chmod(0o640)
    result = run_edged("--config", config, "--check")
    assert result.returncode == 1
    assert "rtsp.users" in result.stderr and f"`chmod 600 {file}`" in result.stderr
    file.chmod(0o600)
    file.write_text(file.read_text() + "otto:boss:1:2\n")
    result = run_edged("--config", config, "--check")
    number = len(file.read_text().splitlines())
    assert result.stderr == (
        f"{config}:1: error: rtsp.users: {file}:{number}: got another role than is allowed: "
        "viewer, operator, admin\n"
    )


def test_a_terminal_is_asked_twice_and_shows_no_password(file):
    terminal = on_terminal("passwd", "--file", file, "--role", "admin", "vera")
    terminal.wait_shown(b"Password of vera: ")
    terminal.type(PASSWORD.encode() + b"\n")
    terminal.wait_shown(b"The same again: ")
    for name in ("cmdline", "environ"):
        assert b"correct" not in terminal.process(name)
    terminal.type(PASSWORD.encode() + b"\n")
    assert terminal.wait() == 0, terminal.shown
    assert b"correct" not in terminal.shown
    assert users(file) == [line("vera", "admin")]


def test_a_terminal_is_asked_again_for_what_is_not_allowed(file):
    terminal = on_terminal("passwd", "--file", file, "vera")
    for password, again, told in [(PASSWORD, "correct hors:e", b"the two passwords differ"),
                                  ("short", "short", b"at least 8"), ("", None, b"no password")]:
        terminal.wait_shown(b"at least 8 characters, not a common password.\r\nPassword of vera: ")
        terminal.type(password.encode() + b"\n")
        if again is not None:
            terminal.answer((b"The same again: ", again.encode()))
        terminal.wait_shown(told)
        assert not file.exists()
    terminal.answer((b"Password of vera: ", PASSWORD.encode()),
                    (b"The same again: ", PASSWORD.encode()))
    assert terminal.wait() == 0, terminal.shown
    assert users(file) == [line("vera", "viewer")]


def test_the_end_of_the_input_changes_no_users(file):
    terminal = on_terminal("passwd", "--file", file, "vera")
    terminal.wait_shown(b"Password of vera: ")
    terminal.type(b"\x04")
    assert terminal.wait() == 1
    assert b"no password was given" in terminal.shown
    assert not file.exists()


def test_a_terminal_shows_what_is_typed_again_after_an_interruption(file):
    keyboard, screen = pty.openpty()
    process = subprocess.Popen(
        [EDGECTL, "passwd", "--file", file, "vera"], stdin=screen, stderr=subprocess.PIPE,
        env=environment(), start_new_session=True,
        # A shell without job control has what it starts in the background ignore the signal.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )

    def shows_what_is_typed():
        import termios

        return bool(termios.tcgetattr(screen)[3] & termios.ECHO)

    wait_for(lambda: not shows_what_is_typed())
    prompt = b"Allowed: at least 8 characters, not a common password.\nPassword of vera: "
    assert process.stderr.read(len(prompt)) == prompt
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE_S) == -signal.SIGINT
    assert shows_what_is_typed()
    assert not file.exists()
    process.stderr.close()
    os.close(keyboard)
    os.close(screen)
