"""The built site in a browser without a window: pages fit a phone and a desk, search finds, copied examples run.

One idea: a person would see it.  Chromium opens the pages from a server of this process and reaches no other host, so
that a page which needs the network reports an error.  A page is loaded once and looked at in both widths.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import quote

import pytest
from built_site import SITE, is_page_of_a_name, page_paths, require_site

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")
if not (BROWSER and DRIVER):
    pytest.skip("no chromium and chromedriver on PATH; CONTRIBUTING.md says how to get them", allow_module_level=True)
pytest.importorskip("selenium", reason="the docs session installs selenium")

from selenium import webdriver  # noqa: E402  # needed where a browser is
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.remote.webelement import WebElement  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402

WIDTHS = {"phone": 390, "desk": 1280}
OPTIONS = (
    "--headless=new",
    "--no-sandbox",  # which has no right to start in a container
    "--disable-dev-shm-usage",
    "--hide-scrollbars",  # a phone's take no width
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)

# Returns what is wrong with the page at the present width.  Code, tables and formulas may scroll inside their box; the
# theme lets headings begin and end 8 pixels outside the text.
LOOK = """
const boxes = "pre, .table-wrapper, .math-wrapper";
const article = document.querySelector("article");
const edge = article.getBoundingClientRect().right + 9;
const sticksOut = element => element.getBoundingClientRect().right > edge && !element.parentElement.closest(boxes);
const scrolls = element => element.scrollWidth > element.clientWidth + 1;
const short = element => element.outerHTML.slice(0, 90);
return [
  ...[...article.querySelectorAll("*")].filter(sticksOut).slice(0, 3).map(element => "sticks out: " + short(element)),
  ...[...document.querySelectorAll("html, .content")].filter(scrolls).map(() => "the page scrolls sideways"),
  ...[...document.images].filter(image => !image.naturalWidth).map(image => "broken picture: " + short(image)),
];
"""


class Handler(SimpleHTTPRequestHandler):
    """Serves the files of the site in silence."""

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    require_site()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=SITE)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="module")
def browser(address: str) -> Iterator[webdriver.Chrome]:
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    for option in OPTIONS:
        options.add_argument(option)
    with webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER)) as chrome:
        rights = {"origin": address, "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]}
        chrome.execute_cdp_cmd("Browser.grantPermissions", rights)
        yield chrome


def set_width(browser: webdriver.Chrome, width: int) -> None:
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def faults(browser: webdriver.Chrome, url: str) -> list[str]:
    """Open a page; return what is wrong with it at each width, and the errors of its scripts."""
    browser.get(url)
    found = []
    for name, width in WIDTHS.items():
        set_width(browser, width)
        found += [f"{name}: {fault}" for fault in browser.execute_script(LOOK)]
    errors = [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
    return found + [f"console: {error}" for error in errors]


def wait_for(browser: webdriver.Chrome, selector: str) -> WebElement:
    """Return the first element of the selector, which a script may still be making."""
    [element, *_] = WebDriverWait(browser, 60).until(lambda b: b.find_elements(By.CSS_SELECTOR, selector))
    return element


def test_pages_fit_both_widths_and_show_their_pictures_without_errors(browser, address, sample) -> None:
    written = [path for path in page_paths() if not is_page_of_a_name(path)]
    names = sample([path for path in page_paths() if is_page_of_a_name(path)], 0.03)
    found = {path: faults(browser, address + path) for path in written + names}
    assert len(written) > 70
    assert {path: report for path, report in found.items() if report} == {}


def test_a_page_that_is_too_wide_lacks_a_picture_or_fails_is_reported(browser, address) -> None:
    page = f"""<article><p style="width: 500px">wide</p><pre style="overflow: auto"><b style="width: 2000px">x</b></pre>
        <img src="{address}none.png" alt="none"></article><script>console.error("oh")</script>"""
    report = "\n".join(faults(browser, f"data:text/html,{quote(page)}"))
    assert "phone: sticks out: <p style=" in report
    assert "phone: the page scrolls sideways" in report
    assert "desk: broken picture: <img src=" in report
    assert '"oh"' in report
    assert "desk: sticks out" not in report
    assert "<b" not in report


def test_search_finds_vmap_first(browser, address) -> None:
    set_width(browser, WIDTHS["desk"])
    browser.get(f"{address}index.html")
    browser.find_element(By.CSS_SELECTOR, "input.sidebar-search").send_keys("vmap", Keys.ENTER)
    wait_for(browser, "#search-results li a").click()
    assert "vmap" in wait_for(browser, "article h1:not(#search-documentation *)").text


def pages_to_learn_from() -> list[str]:
    """Return the first page and the pages of the sidebar's part Learn."""
    contents = re.search(r":caption: Learn\n\n(.*?)```", (SITE.parents[1] / "index.md").read_text(), re.DOTALL)
    return ["index", *contents[1].split()]


@pytest.mark.parametrize("page", pages_to_learn_from())
def test_the_first_example_runs_as_the_button_copies_it(browser, address, page) -> None:
    set_width(browser, WIDTHS["desk"])
    browser.get(f"{address}{page}.html")
    button = wait_for(browser, "article .highlight-python button.copybtn")
    webdriver.ActionChains(browser).move_to_element(button).click().perform()
    wait_for(browser, "button.copybtn.success")
    code = browser.execute_async_script("navigator.clipboard.readText().then(arguments[0])")
    assert "import" in code
    assert ">>>" not in code
    if "cpu_devices(" in code:  # which a process chooses once
        subprocess.run([sys.executable, "-c", code], timeout=300, check=True)
    else:
        exec(compile(code, f"{page}, copied", "exec", dont_inherit=True), {"__name__": "__main__"})
