"""A virtual machine with a real kernel, and so with a camera: the kernel's vivid driver.

It runs under emulation everywhere (tcg), so that it behaves the same with and without /dev/kvm; all
time limits are wide. The root disk is a snapshot; what `make install` made, or packages of another
architecture than this machine's, come on a second disk. A test may bring further ones.
The test talks to a root shell on a virtio port, a viewer to RTSP through a forwarded TCP port.
"""
import base64
import pathlib
import socket
import subprocess
import tempfile

import beds
from ports import free_port

BOOT_S = 900  # some 15 s on a machine that has nothing else to do, an arm64 one a minute
# Of each architecture: qemu and its machine, and where its kernel has the serial line.
MACHINES = {
    "amd64": (["qemu-system-x86_64", "-M", "q35", "-cpu", "max"], "ttyS0"),
    # As an Orin's processor; `max` signs pointers, which takes its time to emulate.
    "arm64": (["qemu-system-aarch64", "-M", "virt", "-cpu", "cortex-a76"], "ttyAMA0"),
}
THREADED = ["-accel", "tcg,thread=multi", "-smp", "2"]
COUNTED = ["-accel", "tcg,thread=single", "-icount", "shift=1", "-rtc", "clock=vm", "-smp", "1"]


def make_disk(files, image):
    """A disk `image` of what is in the folder `files`: with the kernels of every GPU it is large."""
    size = sum(file.stat().st_size for file in files.rglob("*") if file.is_file())
    subprocess.run(["mkfs.ext4", "-q", "-d", files, image, f"{size * 5 // 4 // 2**20 + 16}M"],
                   check=True, stdin=subprocess.DEVNULL)


class Machine(beds.Bed):
    patience_s = 900
    rtsp_port = 8554  # edged's own

    def __init__(self, stage=beds.stage, disks=(), counted_clock=False):
        """`stage` fills a folder that is copied into the system. `disks` are raw images, /dev/vdc and on,
        which have what the system wrote once it is closed. With `counted_clock` the machine's time is that of
        its instructions, 2 ns each: nothing in it is late because this machine is slow.
        """
        self.shell = None
        self.count = 0
        self.directory = tempfile.TemporaryDirectory(prefix="edged-bed-")
        directory = pathlib.Path(self.directory.name)
        stage(directory / "stage")
        make_disk(directory / "stage", directory / "stage.img")
        self.port = free_port()
        self.console = directory / "console.log"
        self.process = subprocess.Popen(self._command(directory, disks, counted_clock), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL)
        self._connect(directory / "shell")
        self.wait_booted(BOOT_S)

    def _command(self, directory, disks, counted_clock):
        qemu, console = MACHINES[beds.ARCHITECTURE]
        processor = COUNTED if counted_clock else THREADED
        return [
            *qemu, *processor, "-m", "1024", "-display", "none", "-no-reboot", "-snapshot",
            "-kernel", beds.BEDS / "vmlinuz", "-initrd", beds.BEDS / "initrd.img",
            # On a machine that is busy enough the check finds no timer; a panic ends qemu.
            "-append", f"console={console} root=/dev/vda rw quiet no_timer_check panic=-1",
            "-drive", f"file={beds.BEDS / 'root.ext4'},if=virtio,format=raw",
            "-drive", f"file={directory / 'stage.img'},if=virtio,format=raw",
            *(word for disk in disks
              for word in ("-drive", f"file={disk},if=virtio,format=raw,snapshot=off")),
            "-nic", f"user,model=virtio,hostfwd=tcp:127.0.0.1:{self.port}-:8555",
            "-serial", f"file:{self.console}",
            "-chardev", f"socket,id=bed,path={directory / 'shell'},server=on,wait=off",
            "-device", "virtio-serial", "-device", "virtserialport,chardev=bed,name=bed",
        ]

    def _connect(self, path):
        self.shell = socket.socket(socket.AF_UNIX)
        # It is there before qemu listens on it.
        beds.wait_until("qemu's shell socket", lambda: self.shell.connect_ex(str(path)) == 0)
        self.replies = self.shell.makefile("rb")

    def run(self, command, timeout_s=None):
        """One line in, one line out: `END count status base64-output`."""
        self.count += 1
        wrapped = base64.b64encode(command.encode()).decode()
        self.shell.settimeout(max(timeout_s or self.patience_s, BOOT_S if self.count == 1 else 0))
        self.shell.sendall(
            f"bash -c \"$(echo {wrapped} | base64 -d)\" </dev/null >/run/bed-output 2>&1; "
            f"echo END {self.count} $? $(base64 -w0 /run/bed-output)\n".encode())
        while True:
            line = self.replies.readline()
            assert line, f"the machine is gone\n{self.console.read_text()[-3000:]}"
            words = line.decode(errors="replace").split()
            if words[:2] == ["END", str(self.count)]:
                output = base64.b64decode(words[3]) if len(words) > 3 else b""
                return int(words[2]), output.decode(errors="replace")

    def read_bytes(self, path):
        return base64.b64decode(self.check(f"base64 -w0 {path}", 120))

    def url(self, path):
        return f"rtsp://127.0.0.1:{self.port}/{path}"

    def close(self):
        if self.shell:
            self.shell.close()
        self.process.terminate()  # nothing in it is worth a shutdown
        self.process.wait(30)
        self.directory.cleanup()
