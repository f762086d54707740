"""config/fleet/https: a certificate that browsers trust, renewed while somebody watches."""

import json
import os
import subprocess

import clients
import daemon
import fleet
import http_video
from fleet import recipe, run
from ports import free_port


def hook(place, folder, pid):
    """edged-certificate at a place, for a folder and a process of the test's."""
    path = recipe("https/edged-certificate", place, {
        "/etc/edged/": f"{folder}/", "-o edged -g edged ": "", "systemctl reload edged": f"kill -HUP {pid}"})
    path.chmod(0o755)
    return path


def shown(port, authority, name):
    """The serial number of the certificate that a client is shown, which trusts the authority alone."""
    told = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{port}", "-servername", name, "-CAfile", authority,
                           "-verify_return_error", "-verify_hostname", name, "-x509_strict"], input="", capture_output=True, text=True,
                          timeout=daemon.PATIENCE_S, check=False)
    assert told.returncode == 0 and "Verification: OK" in told.stdout, told.stdout + told.stderr
    return subprocess.run(["openssl", "x509", "-noout", "-serial"], input=told.stdout, capture_output=True, text=True,
                          timeout=daemon.PATIENCE_S, check=True).stdout


def start_device(edged, folder, certificate, key):
    for name, source in (("tls.crt", certificate), ("tls.key", key)):
        (folder / name).write_text(source.read_text())
        (folder / name).chmod(0o600)
    http_port, tls_port = free_port(), free_port()
    return edged([daemon.camera(fps=10)], settings={
        "http": {"port": http_port, "tls": True, "names": ["gate.example"]},
        "rtsp": {"tls_port": tls_port, "certificate": str(folder / "tls.crt"), "key": str(folder / "tls.key")}}), http_port, tls_port


def assert_renewed_unseen(server, ports, authority, name, renew):
    """Those who watch inside TLS lose no frame, and new connections get another certificate."""
    http_port, tls_port = ports
    video = http_video.of("front", "edges", format="mp4")
    viewers = [clients.Viewer(url, program="ffmpeg")
               for url in (f"rtsps://127.0.0.1:{tls_port}/front/edges", f"https://127.0.0.1:{http_port}{video}")]
    try:
        for viewer in viewers:
            viewer.wait_numbers(10)
        before = [shown(port, authority, name) for port in ports]
        renew()
        daemon.wait_for(lambda: all(shown(port, authority, name) != was for port, was in zip(ports, before)), explain=server.stderr)
        for viewer in viewers:
            viewer.wait_numbers(len(viewer.frames) + 30)
            server.assert_accounted(viewer)
    finally:
        for viewer in viewers:
            viewer.stop()


def test_an_authority_of_ones_own_is_trusted_and_its_certificates_are_renewed_unseen(edged, tmp_path):
    authority = fleet.Authority(tmp_path / "authority")
    server, *ports = start_device(edged, tmp_path, *authority.sign("gate.example", "127.0.0.1"))
    renewing = hook(tmp_path, tmp_path, server.process.pid)
    assert_renewed_unseen(server, ports, authority.certificate, "gate.example",
                          lambda: run(renewing, *authority.sign("gate.example", "127.0.0.1")))
    # A key of another certificate is refused, and the one before stays.
    last = shown(ports[0], authority.certificate, "gate.example")
    certificate, _ = authority.sign("gate.example", "127.0.0.1")
    _, key = authority.sign("yard.example", "127.0.0.1")
    run(renewing, certificate, key)
    server.wait_stderr("is not that of the certificate")
    assert shown(ports[0], authority.certificate, "gate.example") == last
    server.stop()


def test_certbot_gets_a_certificate_and_renews_it_unseen(edged, engines, tmp_path):
    """From pebble, which looks whether port 80 of the name is certbot's."""
    authority = fleet.Authority(tmp_path / "authority")
    certificate, key = authority.sign()
    acme, management, challenge, dns, control = (free_port() for _ in range(5))
    (tmp_path / "pebble.json").write_text(json.dumps({"pebble": {
        "listenAddress": f"127.0.0.1:{acme}", "managementListenAddress": f"127.0.0.1:{management}", "certificate": str(certificate),
        "privateKey": str(key), "httpPort": challenge, "tlsPort": free_port(), "ocspResponderURL": "", "externalAccountBindingRequired": False}}))
    engines.append(fleet.Engine("Starting management server|Answering A queries|Starting", "pebble-challtestsrv", "-defaultIPv4", "127.0.0.1",
                                "-defaultIPv6", "", "-dns01", f"127.0.0.1:{dns}", "-management", f"127.0.0.1:{control}", "-http01", "",
                                "-https01", "", "-tlsalpn01", ""))
    engines.append(fleet.Engine("ACME directory available", "pebble", "-config", tmp_path / "pebble.json", "-dnsserver", f"127.0.0.1:{dns}",
                                PEBBLE_VA_NOSLEEP=1, PEBBLE_WFE_NONCEREJECT=0))
    folders = sum(([f"--{name}-dir", tmp_path / "certbot" / name] for name in ("config", "work", "logs")), [])
    trust = {**os.environ, "REQUESTS_CA_BUNDLE": str(authority.certificate)}

    def certbot(*arguments):
        run("certbot", *arguments, *folders, "--non-interactive", env=trust)

    certbot("certonly", "--standalone", "--http-01-port", challenge, "--server", f"https://localhost:{acme}/dir", "--agree-tos",
            "--register-unsafely-without-email", "--domain", "gate.example")
    lineage = tmp_path / "certbot/config/live/gate.example"
    server, *ports = start_device(edged, tmp_path, lineage / "fullchain.pem", lineage / "privkey.pem")
    root = tmp_path / "root.pem"
    root.write_text(run("curl", "--silent", "--cacert", authority.certificate, f"https://localhost:{management}/roots/0"))
    deploy = tmp_path / "certbot/config/renewal-hooks/deploy"
    deploy.mkdir(parents=True, exist_ok=True)
    hook(deploy, tmp_path, server.process.pid)
    assert_renewed_unseen(server, ports, root, "gate.example", lambda: certbot("renew", "--force-renewal", "--no-random-sleep-on-renew"))
    server.stop()
