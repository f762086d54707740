"""Which devices and how much memory a real systemd lets a camera process have, on a kernel whose drivers come
when they are told to.

ppdev plays nvgpu: its major number is there from when it is loaded.
"""
import beds

CONF = """cameras = ( { name = "front"; source = "pattern"; width = 64; height = 48;
                        views = ( { name = "edges"; view = "edges"; } ); } );"""
POWER = "/dev/nvgpu/igpu0/power"
NODE = "/dev/edged-test"
GPU = "/dev/nvidia0"
# As a camera process: in its control group, which has the list of devices.
OPEN = f"echo $$ >$(ls -d /sys/fs/cgroup/system.slice/*/edged-camera@*)/cgroup.procs; exec 3<>{NODE}"


def drop_in(machine, unit, text):
    folder = f"/etc/systemd/system/{unit}.d"
    machine.check(f"mkdir -p {folder}")
    machine.write(f"{folder}/test.conf", text)


def make_node(machine, path):
    major = machine.check("awk '$2 == \"ppdev\" { print $1 }' /proc/devices").strip()
    machine.check(f"rm -f {path}; mknod -m 666 {path} c {major} 0")


def is_refused(machine):
    make_node(machine, NODE)
    told = machine.run(f"bash -c '{OPEN}'")[1]
    assert told == "" or "No such device" in told or "Operation not permitted" in told, told
    return "Operation not permitted" in told


def test_a_driver_that_comes_with_the_gpus_power_is_on_a_camera_processs_list(machine):
    drop_in(machine, "edged-camera@.service", "[Service]\nDeviceAllow=char-ppdev rw\n")
    machine.run("modprobe -r ppdev")
    machine.check("! grep ppdev /proc/devices && systemctl daemon-reload")
    machine.restart(CONF)
    machine.check("modprobe ppdev")  # the service has started before
    assert is_refused(machine)
    machine.check("systemctl stop edged && modprobe -r ppdev")

    drop_in(machine, "edged-gpu.service", "[Service]\nExecStartPost=+/sbin/modprobe ppdev\n")
    machine.check(f"mkdir -p $(dirname {POWER}) && touch {POWER} && systemctl daemon-reload")
    machine.restart(CONF)
    assert machine.check(f"cat {POWER}") == "1\n"
    assert not is_refused(machine)
    machine.check("rm -r /etc/systemd/system/edged*.d && systemctl daemon-reload")
    beds.wait_until("the service", lambda: machine.property("ActiveState") == "active")


def test_devices_that_came_after_a_camera_process_cost_another_process(machine):
    """systemd looks up what it may open before it runs the ExecStartPre that plays a late driver."""
    refusal = f"this service may not open {GPU}"

    def computes(refused):
        camera = machine.camera("front")
        return camera["frames"] > 30 and camera["gpu"].endswith(refusal) == refused

    def replacements():
        told = machine.check("journalctl --sync; journalctl _SYSTEMD_INVOCATION_ID=$(systemctl show -P InvocationID edged)")
        return told.count("the GPU's devices came after the camera process had started")

    def is_replaced():
        """Once more where the machine was so slow that a process ended for another reason first."""
        machine.check("systemctl stop edged && modprobe -r ppdev")
        machine.restart(CONF)
        beds.wait_until("a process that may open them", lambda: computes(refused=False), machine.patience_s)
        assert replacements() <= 1
        return replacements() == 1

    machine.check("modprobe ppdev")
    make_node(machine, GPU)
    drop_in(machine, "edged-camera@.service",
            "[Service]\nDeviceAllow=char-ppdev rw\nExecStartPre=+/sbin/modprobe ppdev\n")
    machine.check("systemctl daemon-reload")
    beds.wait_until("a process in the place of one that came too early", is_replaced, machine.patience_s)
    # They are on no list: no further process could do better.
    machine.check("rm -r /etc/systemd/system/edged-camera@.service.d && systemctl daemon-reload")
    machine.restart(CONF)
    beds.wait_until("a process that goes on without", lambda: replacements() == 1 and computes(refused=True), machine.patience_s)
    machine.check(f"rm -r {GPU}; systemctl restart edged")


def test_memory_that_runs_out_in_one_cameras_unit_ends_this_camera_alone(machine):
    """By the kernel, where the process itself does not notice in time."""
    machine.restart(CONF.replace("cameras = ( {", """cameras = ( { name = "second"; source = "pattern"; width = 64;
                                 height = 48; views = ( { name = "edges"; view = "edges"; } ); }, {"""))
    beds.wait_until("both", lambda: all(machine.camera(name)["frames"] > 5 for name in ("front", "second")))
    front, second = (machine.camera(name)["process"]["pid"] for name in ("front", "second"))
    unit = machine.check(f"ps -o unit= -p {front}").strip()
    machine.check(f"systemctl set-property --runtime {unit} MemoryMax=1M MemorySwapMax=0")
    beds.wait_until("another process", lambda: machine.camera("front")["process"]["pid"] not in (0, front),
                    machine.patience_s)
    beds.wait_until("its frames", lambda: machine.camera("front")["frames"] > 5, machine.patience_s)
    assert "was killed by signal 9 (Killed)" in machine.journal()
    assert "OOM killer" in machine.check(f"journalctl --sync; journalctl -u '{unit}'")
    process = machine.camera("second")["process"]
    assert (process["pid"], process["restarts"]) == (second, 0)
    assert machine.property("NRestarts") == "0"
