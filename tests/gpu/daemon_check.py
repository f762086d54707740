#!/usr/bin/python3
"""Drives a bundle of edged as a whole, on a machine with a GPU, and says which claims hold.

Needs python3 with numpy, nothing else; `make bundle-tests` packs it with edged, so that
`python3 edged-*/tests/gpu/daemon_check.py` is all there is to run. Status 0: every claim holds.
What a clock measures is claimed of a real GPU alone: where a CPU plays it, frames may be late, and
those that are lost have to be counted as dropped.
"""

import argparse
import contextlib
import os
import pathlib
import re
import statistics
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
if (ROOT / "bin/daemon_client").exists():
    os.environ["EDGED_BUILD"] = str(ROOT / "bin")

import daemon_bed as bed  # noqa: E402

PSNR_MIN_DB = 32
VIEWERS = 4
# After which time a fault can be noticed, and what faulty_driver.c and tests/fakes/cuda call it.
FAULTS = {"illegal": (0.0, "illegal", "illegal=g"), "endless": (1.0, "endless", "hang=g")}
CPU_WITHIN_S, GPU_WITHIN_S, STOP_WITHIN_S = 0.5, 3.0, 5.0
RELOAD_EVERY_S = 5
BLOCKS = [(64, 4), (32, 8), (256, 1), (16, 16), (128, 2), (32, 4), (8, 32), (512, 1)]
REFUSAL = re.compile(r"refus|allowed|stays|rolled back|error|CRITICAL")


class Check:
    """The rows of the table, and how servers are started for all of them."""

    def __init__(self, arguments, directory):
        self.arguments = arguments
        self.directory = directory
        self.gpu = arguments.backend == "cuda"
        self.timed = self.gpu and not arguments.fake
        self.driver = arguments.fake or bed.host_driver()
        self.label = "CUDA" if self.gpu else "CPU"
        self.rows = []  # (claim, what was seen, holds)
        self.servers = 0

    def claim(self, text, seen, holds):
        self.rows.append((text, str(seen), bool(holds)))
        print(f"  {'PASS' if holds else 'FAIL'}  {text}: {seen}", flush=True)

    @contextlib.contextmanager
    def server(self, memory="auto", camera=None, **extra):
        """A running edged; if a claim fails meanwhile, the end of its log is shown."""
        failed = self.failures()
        self.servers += 1
        settings = {"backend": self.arguments.backend, "memory": memory}
        cameras = [camera or bed.daemon.camera(width=bed.SIZE[0], height=bed.SIZE[1])]
        if self.arguments.fake:
            extra = {
                "LD_LIBRARY_PATH": self.arguments.fake.parent, "EDGED_FAKE_CUDA": "board=h200",
                **extra,
            }
        directory = self.directory / f"edged-{self.servers}"
        server = bed.Server(directory, cameras, settings, **extra)
        server.stop_within_s = STOP_WITHIN_S if self.timed else server.stop_within_s
        try:
            with server:
                yield server
        except AssertionError as problem:
            self.claim(f"server {self.servers}: starts, answers and ends", problem, False)
        if self.failures() > failed:
            print("".join(f"      {line}\n" for _, line in server.lines[-25:]), end="")

    def faulty(self, trigger):
        """The environment in which the driver goes wrong when `trigger` is there."""
        if self.arguments.fake:
            return {"EDGED_FAKE_CUDA": f"board=h200,trigger={trigger}"}
        inherited = os.environ.get("LD_LIBRARY_PATH", "")
        return {
            "LD_LIBRARY_PATH": f"{ROOT / 'tests/gpu/faulty'}:{inherited}",
            "EDGED_REAL_CUDA": self.driver,
            "EDGED_FAULT_FILE": trigger,
        }

    def failures(self):
        return sum(not holds for _, _, holds in self.rows)


def wait_watching(check, seconds, clients):
    """Lets the clients watch for so long, or until one is gone. Without a clock: until each has
    seen a few pictures more."""
    end = time.monotonic() + (seconds if check.timed else bed.daemon.PATIENCE_S)
    enough = [len(client.frames) + bed.FPS // 2 for client in clients]
    while time.monotonic() < end and all(client.watching for client in clients):
        if not check.timed and all(len(c.frames) >= n for c, n in zip(clients, enough)):
            break
        time.sleep(0.1)


def describe_counts(client):
    return (
        f"{client.total['frames']:.0f} frames, {client.total['lost']:.0f} lost,"
        f" {client.unreadable()} unreadable, longest gap {client.total['gap_ms']:.0f} ms"
    )


def saw_all(check, server, client, seconds):
    """Whether a client that has ended saw every frame of so long."""
    total = client.total
    if total["restarts"] or total["disconnects"]:
        return False
    if not check.timed:
        return server.accounts_for(client) and total["frames"] > 0
    whole = total["lost"] == client.unreadable() == server.dropped() == 0
    return whole and total["frames"] >= (seconds - 1) * bed.FPS


def check_pictures(check, name, client):
    psnrs = client.psnrs_db() or [0.0]
    check.claim(
        f"{name}: decoded edges are the oracle's, at least {PSNR_MIN_DB} dB",
        f"{len(psnrs)} pictures, {min(psnrs):.1f} to {max(psnrs):.1f} dB",
        min(psnrs) >= PSNR_MIN_DB,
    )


def check_stream(check, name, seconds, memory, wanted_memory, pictures):
    """One viewer of the pattern's edges: every frame, no copy, the right pictures."""
    with check.server(memory) as server:
        live = server.wait_live(check.label)
        check.claim(f"{name}: computed on {check.label}", server.backend(), live)
        dump = server.directory / "pictures"
        with bed.Client(server.url("/front/edges"), dump=dump, dump_count=pictures) as client:
            client.wait_numbered(1 if check.timed else pictures * bed.DUMP_EVERY)
            wait_watching(check, seconds, [client])
            status = server.status_by_edgectl()
        camera, mount = status["cameras"][0], status["mounts"][0]
        check.claim(
            f"{name}: every frame for {seconds} s", describe_counts(client),
            saw_all(check, server, client, seconds),
        )
        check.claim(
            f"{name}: 0 copies a frame",
            f"{camera['copies_per_frame']} copies; {camera['path']}",
            camera["copies_per_frame"] == 0,
        )
        check.claim(
            f"{name}: memory is {wanted_memory}", camera["path"],
            f" {wanted_memory} " in camera["path"],
        )
        stages = mount["latency_ms"]
        print("        ms (p50, p99): " + ", ".join(
            f"{stage} {stages[stage]['p50']:.2f} {stages[stage]['p99']:.2f}" for stage in stages))
        check_pictures(check, name, client)


def check_clip(check, seconds):
    camera = bed.daemon.camera(source="file", path=bed.CLIP)
    with check.server(camera=camera) as server:
        live = server.wait_live(check.label)
        with bed.Client(server.url("/front/edges"), view="none") as client:
            bed.daemon.wait_for(lambda: client.frames or not client.watching)
            before = server.camera()["frames"]
            wait_watching(check, seconds, [client])
            after = server.camera()
        rate = (after["frames"] - before) / seconds
        check.claim(
            f"clip: plays on {check.label} at its 10 frames/s",
            f"{client.total['frames']:.0f} frames in {seconds} s, longest gap"
            f" {client.total['gap_ms']:.0f} ms; {after['path']}",
            live and client.total["disconnects"] == 0
            and (not check.timed or (8 < rate < 12 and client.total["frames"] >= 8 * seconds)),
        )


def check_blocks(check, seconds):
    """Block sizes changed by reload under four viewers."""
    with check.server() as server:
        live = server.wait_live(check.label)
        process = server.camera()["process"]
        first_line, reloads = len(server.lines), []

        with contextlib.ExitStack() as stack:
            url = server.url("/front/edges")
            clients = [stack.enter_context(bed.Client(url)) for _ in range(VIEWERS)]
            seen = all([client.wait_numbered() for client in clients])
            for x, y in (BLOCKS * 10)[: seconds // RELOAD_EVERY_S]:
                reloads.append(time.monotonic())
                server.reload(kernels={"gradient": {"block": [x, y]}})
                wait_watching(check, RELOAD_EVERY_S, clients)
        lines = [line for _, line in server.lines[first_line:]]
        after, backend = server.camera()["process"], server.backend()
        dropped = server.camera()["dropped"], server.mount()["dropped"]
        for number, at in clients[0].losses():
            since = min((at - moment for moment in reloads if moment <= at), default=float("nan"))
            print(f"        lost before {number}, {since:.2f} s after a reload;"
                  f" dropped by the camera {dropped[0]}, by the view {dropped[1]}")
        check.claim(
            f"blocks: {len(reloads)} reloads under {VIEWERS} viewers, no frame lost",
            "; ".join(describe_counts(client) for client in clients),
            seen and live and all(saw_all(check, server, client, seconds) for client in clients),
        )
        check.claim(
            f"blocks: the same process goes on, on {check.label}",
            f"process {process['pid']}, then {after['pid']}, {backend}",
            process["pid"] == after["pid"] and process["restarts"] == after["restarts"]
            and backend.startswith(check.label),
        )
        # The port that edged chose is not the 0 of its file.
        refusals = [line for line in lines if REFUSAL.search(line) and "rtsp.port stays" not in line]
        check.claim("blocks: none is refused", refusals or "no refusal", not refusals)


def watch_recovery(check, server, clients, trigger, text, deadline_s):
    """Provokes a fault. Returns when it happened, and when each viewer's first pictures after it
    came: of another camera process, which begins on the CPU, and of the GPU again."""
    before = server.camera()["process"]["pid"]
    moment = bed.provoke(trigger, text)
    if not moment:
        return None, [], []
    end = moment + (deadline_s + 2 * GPU_WITHIN_S if check.timed else bed.daemon.PATIENCE_S)

    # Asked for, as the numbers need not go back where the process before showed next to nothing.
    def is_live(label):
        camera = server.camera()
        return (camera["process"]["pid"] != before and camera["state"] == "live"
                and label in camera["path"])

    def wait_live(label):
        while not is_live(label) and time.monotonic() < end:
            time.sleep(0.02)
        return time.monotonic()

    other = moment if check.timed else wait_live("")
    back = wait_live(check.label)

    def firsts():
        return [(client.restart_after(moment) if check.timed else client.numbered_after(other),
                 client.numbered_after(back)) for client in clients]

    while time.monotonic() < end and not all(all(one) for one in firsts()):
        time.sleep(0.02)
    wait_watching(check, 1, clients)
    return (moment, *map(list, zip(*firsts())))


def check_recovery(check, name, noticed, by_cpu, by_gpu):
    cpu = [((at or float("inf")) - noticed) * 1000 for at in by_cpu]
    gpu = [(at or float("inf")) - noticed for at in by_gpu]
    check.claim(
        f"{name}: on the CPU within {CPU_WITHIN_S * 1000:.0f} ms of being noticed",
        f"{statistics.median(cpu):.0f} ms, at most {max(cpu):.0f}",
        max(cpu) <= CPU_WITHIN_S * 1000 if check.timed else max(cpu) < float("inf"),
    )
    check.claim(
        f"{name}: on the GPU again within {GPU_WITHIN_S:.0f} s",
        f"{statistics.median(gpu):.2f} s, at most {max(gpu):.2f}",
        max(gpu) <= GPU_WITHIN_S if check.timed else max(gpu) < float("inf"),
    )


def check_fault(check, fault, turn):
    """A kernel that goes wrong under four viewers."""
    name = f"fault {fault} {turn}"
    trigger = check.directory / f"edged-{check.servers + 1}/fault"
    deadline_s, real, fake = FAULTS[fault]
    with check.server(**check.faulty(trigger)) as server, contextlib.ExitStack() as stack:
        live = server.wait_live(check.label)
        url = server.url("/front/edges")
        clients = [stack.enter_context(bed.Client(url)) for _ in range(VIEWERS)]
        seen = all([client.wait_numbered(bed.FPS) for client in clients])
        before = server.camera()["process"]["pid"]
        moment, by_cpu, by_gpu = watch_recovery(
            check, server, clients, trigger, fake if check.arguments.fake else real, deadline_s)
        backend, after = server.backend(), server.camera()["process"]["pid"]
        watching = sum(client.watching for client in clients)
        lines = [
            f"{at - moment:+.3f} s {line}" for at, line in server.lines if moment and at > moment
        ]
        stack.pop_all().close()
        print("".join(f"        {line}\n" for line in lines), end="")
        if not moment:
            check.claim(f"{name}: is provoked", f"live {live}, seen {seen}, {backend}", False)
            return
        check_recovery(check, name, moment + deadline_s, by_cpu, by_gpu)
        lost = sum(client.total["disconnects"] for client in clients)
        slates = max(client.unreadable() for client in clients)
        check.claim(
            f"{name}: {VIEWERS} viewers stay, back on {check.label}",
            f"{watching} watch, {lost:.0f} disconnects, {backend}, {slates} slates seen,"
            f" process {before}, then {after}",
            live and seen and watching == VIEWERS and lost == 0 and before != after
            and any("using the CPU" in line for line in lines) and backend.startswith(check.label),
        )


def check_driver(check):
    """The driver runs on the bundle's C library."""
    needed = bed.needed_glibc(check.driver) if check.driver else "-"
    check.claim("driver: there is one", f"{check.driver}, asks for glibc {needed}", check.driver)
    print(f"        name, driver, persistence mode: {bed.describe_gpu()}")


def run(check, seconds, quick):
    if check.gpu:
        check_driver(check)
    if "stream" in check.arguments.only:
        check_stream(
            check, "stream", seconds, "auto", "registered" if check.gpu else "host", 10)
    if "clip" in check.arguments.only:
        check_clip(check, 5 if quick else 10)
    if "blocks" in check.arguments.only:
        check_blocks(check, 20 if quick else 60)
    if "faults" in check.arguments.only and check.gpu:
        for turn in range(1, 2 if quick else 3):
            for fault in FAULTS:
                check_fault(check, fault, turn)
    if "memory" in check.arguments.only:
        for memory in ("registered", "pinned", "managed") if check.gpu else ("host",):
            check_stream(check, f"memory {memory}", 5 if quick else 10, memory, memory, 3)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    claims = ["stream", "clip", "blocks", "faults", "memory"]
    parser.add_argument("--backend", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--seconds", type=int, help="of the first stream (120; quick: 20)")
    parser.add_argument("--quick", action="store_true", help="3 minutes instead of 6")
    parser.add_argument("--only", nargs="+", choices=claims, default=claims)
    parser.add_argument(
        "--fake", type=pathlib.Path, help="libcuda.so.1 of tests/fakes/cuda, for lack of a GPU"
    )
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="edged-") as directory:
        check = Check(arguments, pathlib.Path(directory))
        run(check, arguments.seconds or (20 if arguments.quick else 120), arguments.quick)
    width = max(len(text) for text, _, _ in check.rows)
    print()
    for text, seen, holds in check.rows:
        print(f"{'PASS' if holds else 'FAIL'}  {text:{width}}  {seen[:90]}")
    failed = check.failures()
    print(f"{len(check.rows) - failed} hold, {failed} fail, {time.monotonic() - begin:.0f} s")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
