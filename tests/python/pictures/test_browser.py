"""Pages in a real browser: they draw, can be used, and are readable at any width."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tinytail

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium drives the browser")

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
DRIVER = "chromedriver"
WIDTHS = (400, 640, 800, 1000, 1280, 1920)
FIGURES = ("latency-read", "latency-write", "attribution", "over-time", "wear")
# A second click within so many milliseconds is a double click to the page.
DOUBLE_CLICK_S = 0.6

# Whether two boxes share a part of the page, and which.
OVERLAPS = """
const boxes = selector => [...document.querySelectorAll(selector)]
    .map(each => each.getBoundingClientRect()).filter(each => each.width && each.height);
const found = [];
for (const figure of document.querySelectorAll('.js-plotly-plot')) {
    const inside = selector => [...figure.querySelectorAll(selector)]
        .map(each => [selector, each.getBoundingClientRect()])
        .filter(([, box]) => box.width && box.height);
    const all = ['.modebar-group', '.legend', '.updatemenu-container', '.annotation',
        '.textpoint']
        .flatMap(inside);
    const outer = figure.getBoundingClientRect();
    all.forEach(([name, a], i) => {
        if (a.right > outer.right + 1 || a.left < outer.left - 1)
            found.push(`${figure.id}: ${name} leaves the figure`);
        all.slice(i + 1).forEach(([other, b]) => {
            const width = Math.min(a.right, b.right) - Math.max(a.left, b.left);
            const height = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
            if (name !== other && width > 1 && height > 1)
                found.push(`${figure.id}: ${name} lies on ${other}`);
        });
    });
}
return found;
"""
# What is drawn of each trace that has data: its lines, points or bars.
DRAWN = """
return [...document.querySelectorAll('.js-plotly-plot')].map(figure => ({
    id: figure.id,
    wanted: figure.data.filter(each => each.visible !== false && each.visible !== 'legendonly'
        && each.x.length && each.y.some(value => value !== null)
        && (each.type !== 'bar' || each.orientation !== 'h' || each.x.some(value => value > 0))
    ).length,
    drawn: [...figure.querySelectorAll('.scatterlayer .trace, .barlayer .trace, .heatmaplayer .hm')]
        .filter(each => each.querySelector('path[d]:not([d=""]), text, image'))
        .length,
}));
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    driver = shutil.which(DRIVER)
    if program is None or driver is None:
        pytest.skip(f"no browser here: none of {', '.join(BROWSERS)}, or no {DRIVER}")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    found = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield found
    found.quit()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of designs of which one has a long name."""
    overlay = {"gc": {"write_points": 4}, "name": "an-overlay-with-a-name-that-is-long"}
    comparison = tinytail.compare(
        ["base", "ttflash", "base+no-gc", ["base", overlay]],
        device="ttflash-small",
        workload={"base": "randrw70-qd16", "set": {"synthetic.requests": 30_000}},
    )
    file = tmp_path_factory.mktemp("report") / "report.html"
    comparison.report(file)
    return file


@pytest.fixture(scope="module")
def sweep_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a sweep with several panels, a failed combination and a long name."""
    with pytest.warns(UserWarning, match="can't run"):
        swept = tinytail.sweep(
            {
                "gc.reserve_blocks": [1, 2, 60],
                "synthetic.queue_depth": [1, 4, 16, 64],
                "synthetic.read_share": [0.5, 0.7],
            },
            designs=["base", ["ttflash", {"gc": {"write_points": 2}, "name": "a-name-" * 9}]],
            device="ttflash-small",
            workload="randrw70-qd16",
            requests=3000,
            seeds=2,
        )
    file = tmp_path_factory.mktemp("sweep") / "sweep.html"
    swept.report(file)
    return file


def opened(browser: Any, report: Path, width: int = 1280) -> None:
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": False},
    )
    browser.get(report.as_uri())
    drawn(browser)


def drawn(browser: Any) -> list[dict[str, Any]]:
    """What is drawn, once all of it is."""
    for _ in range(50):
        found: list[dict[str, Any]] = browser.execute_script(DRAWN)
        if found and all(each["drawn"] >= each["wanted"] for each in found):
            break
        time.sleep(0.1)
    return found


def test_every_plot_is_drawn_with_its_data_and_nothing_is_in_the_console(
    browser: Any, report: Path
) -> None:
    opened(browser, report)
    found = {each["id"]: each for each in drawn(browser)}
    assert set(found) == {f"figure-{name}" for name in FIGURES}
    for name, each in found.items():
        assert each["wanted"] > 0, name
        assert each["drawn"] == each["wanted"], name
    assert browser.get_log("browser") == []


def test_a_name_in_the_legend_hides_its_design_and_shows_it_again(
    browser: Any, report: Path
) -> None:
    opened(browser, report)

    def shown() -> list[str]:
        found: list[str] = browser.execute_script(
            "return document.getElementById('figure-latency-read').data"
            ".filter(each => each.visible !== 'legendonly').map(each => each.legendgroup)"
        )
        return sorted(set(found))

    def click() -> None:
        toggle = browser.find_element("css selector", "#figure-latency-read .legend .legendtoggle")
        browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", toggle)
        webdriver.ActionChains(browser).move_to_element(toggle).click().perform()
        time.sleep(DOUBLE_CLICK_S)

    everything = shown()
    assert len(everything) == 4
    click()
    assert shown() == [each for each in everything if each != "base"]
    click()
    assert shown() == everything


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_overlaps_at_any_width(browser: Any, report: Path, width: int) -> None:
    opened(browser, report, width)
    assert browser.execute_script(OVERLAPS) == []
    wide = browser.execute_script("return document.documentElement.scrollWidth")
    assert wide <= width


def test_all_parts_of_a_page_can_be_gone_to_where_it_is_narrow(
    browser: Any, tmp_path: Path
) -> None:
    # What was measured is one part more.
    trace = tmp_path / "t.csv"
    lines = (
        f"{number * 10_000},h,0,{kind},{number * 4096},4096,2000\n"
        for number, kind in enumerate(["Read", "Write"] * 250)
    )
    trace.write_text("".join(lines))
    comparison = tinytail.compare(["base"], device="ttflash-small", workload=str(trace))
    comparison.report(tmp_path / "page.html")
    width = WIDTHS[0]
    opened(browser, tmp_path / "page.html", width)
    found = browser.execute_script(
        "return [...document.querySelectorAll('nav a')]"
        ".map(each => [each.textContent, each.getBoundingClientRect().right])"
    )
    assert "Measured" in dict(found)
    assert max(right for _, right in found) <= width
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width


def contrast(browser: Any, selector: str) -> float:
    """How much a text differs from the page behind it, as WCAG counts it."""
    found: float = browser.execute_script(
        """
        const light = colour => {
            const [r, g, b] = colour.match(/[\\d.]+/g).slice(0, 3).map(each => each / 255)
                .map(each => each <= 0.03928 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4);
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        const text = light(getComputedStyle(document.querySelector(arguments[0])).color);
        const page = light(getComputedStyle(document.body).backgroundColor);
        return (Math.max(text, page) + 0.05) / (Math.min(text, page) + 0.05);
        """,
        selector,
    )
    return found


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_readable_in_either_scheme(browser: Any, report: Path, scheme: str) -> None:
    feature = {"name": "prefers-color-scheme", "value": scheme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": [feature]})
    opened(browser, report)
    for selector in ("h1", "p.lead", "tbody th", "td .ratio", "dt", "footer", ".verdict .better"):
        assert contrast(browser, selector) >= 4.5, selector
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})


def test_it_prints_with_its_plots(browser: Any, report: Path) -> None:
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    # A4 at 96 dots per inch, without margins.
    opened(browser, report, 794)
    assert browser.find_element("css selector", "nav").is_displayed() is False
    assert browser.execute_script(OVERLAPS) == []
    widths = browser.execute_script(
        "return [...document.querySelectorAll('.js-plotly-plot')]"
        ".map(each => each.getBoundingClientRect().right)"
    )
    assert max(widths) <= 794
    printed = browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
    assert len(printed["data"]) > 50_000
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_every_plot_of_a_sweep_is_drawn_with_its_data(browser: Any, sweep_page: Path) -> None:
    opened(browser, sweep_page)
    found = {each["id"]: each for each in drawn(browser)}
    assert {"figure-front", "figure-lines-erases", "figure-heat-erases"} <= set(found)
    for name, each in found.items():
        assert each["wanted"] > 0, name
        assert each["drawn"] == each["wanted"], name
    assert browser.get_log("browser") == []
    assert "allowed: 1 to 32" in browser.find_element("css selector", ".alarm").text


@pytest.mark.parametrize("width", [WIDTHS[0], 800, WIDTHS[-1]])
def test_nothing_of_a_sweep_overlaps_at_any_width(
    browser: Any, sweep_page: Path, width: int
) -> None:
    opened(browser, sweep_page, width)
    assert browser.execute_script(OVERLAPS) == []
    wide = browser.execute_script("return document.documentElement.scrollWidth")
    assert wide <= width
