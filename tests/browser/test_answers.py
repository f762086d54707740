"""What the page answers to a person: at the place that was touched, and nothing that is lost."""


import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

import browser
import daemon
from ports import free_port
from test_http import write_users

WIDTH = '[data-key="cameras.front.width"]'
CAMERAS = [daemon.camera(views=[{"name": "plain", "view": "camera"}], width=320, height=240, fps=3)]


def open_page(driver, server, query=""):
    driver.get(browser.page_link(server))
    driver.get(f"{server.status()['http']}/{query}#settings/front/plain")
    browser.run(driver, browser.READER)
    browser.wait(driver, "edged.state.pictures.get('front/plain')?.drawnMs && document.querySelector('#tab .field')", explain="the page")


def write(field, text):
    field.send_keys(Keys.CONTROL + "a")
    field.send_keys(text + Keys.TAB)


@pytest.mark.parametrize("size", [(1280, 900), (390, 844)])
def test_a_refused_value_stays_in_its_field_with_the_reason(server, driver, size):
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                           {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": size[0] < 500})
    open_page(driver, server)
    browser.run(driver, "document.getElementById('tab-camera').click()")
    field = driver.find_element(By.CSS_SELECTOR, f"{WIDTH} input")
    browser.run(driver, f"""document.querySelector('{WIDTH}').scrollIntoView({{block: "center"}})""")
    write(field, "7")
    reason = browser.wait(driver, f"document.querySelector('{WIDTH} .fault')?.textContent", explain="the reason")
    assert "width" in reason and "allowed" in reason
    assert field.get_attribute("value") == "7"
    assert browser.run(driver, f"""return [...document.querySelectorAll('{WIDTH} .fault, .actions p')].every(each => {{
        const {{top, bottom}} = each.getBoundingClientRect(); return top >= 0 && bottom <= innerHeight; }})""")
    write(field, "320")
    browser.wait(driver, f"!document.querySelector('{WIDTH} .fault')", explain="no reason any more")
    driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_jpegs_are_counted_as_often_as_the_camera_makes_them(server, driver):
    open_page(driver, server, "?way=jpeg")
    fps = browser.run(driver, """await new Promise(resolve => setTimeout(resolve, 1500)); const counted = [];
        for (let i = 0; i < 5; i++) { await new Promise(resolve => setTimeout(resolve, 1000));
            counted.push(edged.state.numbers.get("front/plain").fps); }
        return counted.reduce((sum, one) => sum + one) / counted.length""")
    assert 0 < fps < 5


def test_the_name_of_a_saved_picture_has_its_time(server, driver):
    open_page(driver, server)
    name = browser.run(driver, """const click = HTMLAnchorElement.prototype.click; let name;
        HTMLAnchorElement.prototype.click = function () { name = this.download; };
        document.getElementById("snapshot").click(); HTMLAnchorElement.prototype.click = click; return name""")
    assert browser.run(driver, r"return /^front-plain-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ\.jpg$/.test(given[0])", name), name


def test_the_hint_beside_the_picture_says_whether_a_region_is_drawn(server, driver):
    open_page(driver, server)
    browser.run(driver, "location.hash = '#front/plain'")
    browser.wait(driver, "document.getElementById('events').textContent.includes('No region is drawn')", explain="no region")
    front, = server.cameras
    server.reload([{**front, "regions": [{"name": "door", "polygon": [[0.1, 0.1], [0.2, 0.1], [0.2, 0.2]], "start": 100.0}]}])
    browser.wait(driver, "document.getElementById('events').textContent.includes('Nothing has moved')", explain="a region")
    server.reload([front])


@pytest.fixture
def logged_out(driver, tmp_path):
    """The page of an edged with users, which asks for a login."""
    write_users(tmp_path / "rtsp.users", otto="operator")
    server = daemon.Daemon(tmp_path, [daemon.camera()], STATE_DIRECTORY=tmp_path,
                           settings={"http": {"port": free_port()}, "rtsp": {"users": str(tmp_path / "rtsp.users")}})
    try:
        server.start()
        driver.get(server.status()["http"])
        browser.run(driver, browser.READER)
        browser.wait(driver, "document.getElementById('login').open", explain="the login")
        yield driver
    finally:
        driver.get("about:blank")
        server.kill()


def test_escape_does_not_leave_a_page_without_a_login(logged_out):
    logged_out.find_element(By.CSS_SELECTOR, "#login input").send_keys("otto", Keys.ESCAPE)
    assert browser.run(logged_out, "await new Promise(resolve => setTimeout(resolve, 300)); return document.getElementById('login').open")


def post(driver, path, body="{}"):
    browser.run(driver, """const reply = await fetch(given[0], {method: "POST", headers: {"Content-Type": "application/json"}, body: given[1]});
        if (!reply.ok) { throw new Error(reply.statusText); }""", path, body)


def test_a_login_on_another_page_ends_the_question_for_it_and_what_it_said(logged_out):
    browser.run(logged_out, """const form = document.querySelector("#login form"); form.user.value = "otto"; form.password.value = "wrong";
        form.requestSubmit()""")
    browser.wait(logged_out, "document.getElementById('login-fault').textContent", explain="a refusal")
    post(logged_out, "v1/login", '{"user": "otto", "password": "pass"}')
    browser.run(logged_out, "document.dispatchEvent(new Event('visibilitychange'))")   # as who comes back from that page
    browser.wait(logged_out, "!document.getElementById('login').open && edged.state.session.role", explain="no question")
    post(logged_out, "v1/logout")
    browser.wait(logged_out, "document.getElementById('login').open", explain="the login")
    assert browser.run(logged_out, "return document.getElementById('login-fault').textContent") == ""
