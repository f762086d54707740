"""Each text of the page stands out against what is behind it, 4.5 to 1 at least, in light and dark (WCAG 2.1, 1.4.3)."""


import pytest

import browser
import daemon

REGION = {"name": "door", "polygon": [[0.1, 0.4], [0.4, 0.4], [0.4, 0.8]], "erode": 0, "start": 0.5, "cooldown_s": 0.2}
CAMERAS = [daemon.camera(name, views=[{"name": "plain", "view": "camera"}, {"name": "edges", "view": "edges"}], width=320, height=240, fps=5,
                         regions=[REGION]) for name in ("front", "back")]
PLACES = {"wall": "#", "large": "#front/plain", "recorded": "#recorded",
          **{tab: "#settings/front/edges" for tab in ("picture", "camera", "shapes", "numbers")}}
# [text, contrast] of each text that is seen and does not stand out. Over a picture counts what is behind the text itself.
FAINT = """
const channel = value => (value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
const luminance = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
const pen = new OffscreenCanvas(1, 1).getContext("2d", {willReadFrequently: true});
const over = colours => {   // the lowest first
  pen.clearRect(0, 0, 1, 1);
  colours.forEach(colour => { pen.fillStyle = colour; pen.fillRect(0, 0, 1, 1); });
  return [...pen.getImageData(0, 0, 1, 1).data];
};
const found = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
let seen = 0;
for (let node = walker.nextNode(); node; node = walker.nextNode()) {
  const element = node.parentElement;
  if (!node.textContent.trim() || !element.checkVisibility() || element.closest(":disabled, [hidden], option, #said, script, summary:empty")) {
    continue;
  }
  const behind = [];
  for (let each = element; each; each = each.parentElement) {
    behind.unshift(getComputedStyle(each).backgroundColor);
  }
  const base = over(["canvas", ...behind]), ink = over(["canvas", ...behind, getComputedStyle(element).color]);
  const [light, dark] = [luminance(base), luminance(ink)].sort((a, b) => b - a), contrast = (light + 0.05) / (dark + 0.05);
  seen++;
  if (contrast < 4.5) {
    found.push([node.textContent, element.className, contrast]);
  }
}
return seen > 5 ? found : ["too few texts"];
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_stand_out(server, driver, scheme):
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
    driver.get(browser.page_link(server))
    browser.run(driver, browser.READER)
    browser.wait(driver, "document.getElementById('to-settings').hidden === false && edged.state.events.length", explain="the page")
    for name, place in PLACES.items():
        browser.run(driver, f"location.hash = '{place}'; await new Promise(resolve => setTimeout(resolve, 300));"
                            f"document.getElementById('tab-{name}')?.click(); await new Promise(resolve => setTimeout(resolve, 300))")
        assert browser.run(driver, FAINT) == [], (name, scheme)
