"""A browser for tests, driven by Playwright; one per module. Tests skip where there is none."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]
WIDE, NARROW = (1280, 900), (390, 844)


@dataclass
class BrowserFindings:
    """What the browser complained about, and requests that left the page's origin."""

    errors: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)


def find_chromium() -> str | None:
    """Path of Debian's Chromium, if it is installed."""
    return shutil.which("chromium")


@contextmanager
def start_browser() -> Iterator[Any]:
    """Start Chromium; skip the test if Playwright or Chromium is missing."""
    playwright = pytest.importorskip("playwright.sync_api")
    path = find_chromium()
    if path is None:
        pytest.skip("chromium is not installed: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, headless=True, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def open_page(
    browser: Any, link: str, *, size: tuple[int, int] = WIDE, dark: bool = False
) -> Iterator[tuple[Any, BrowserFindings]]:
    """Open a log-in link in a window of its own; collect errors and requests to other origins."""
    origin = "/".join(link.split("/")[:3])
    width, height = size
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light"
    )
    page, found = context.new_page(), BrowserFindings()
    page.on(
        "console",
        lambda message: found.errors.append(message.text) if message.type == "error" else None,
    )
    page.on("pageerror", lambda error: found.errors.append(str(error)))
    page.on(
        "request",
        lambda request: (
            found.foreign.append(request.url)
            if not request.url.startswith((origin, "data:", "blob:"))
            else None
        ),
    )
    page.goto(link)
    try:
        yield page, found
    finally:
        context.close()


def list_serious(page: Any) -> list[str]:
    """Serious and critical findings of axe-core about a page."""
    from axe_playwright_python.sync_playwright import Axe

    violations = Axe().run(page).response["violations"]
    return [
        f"{one['id']}: {one['nodes'][0]['html'][:200]}"
        for one in violations
        if one["impact"] in ("serious", "critical")
    ]


def save_screenshot(page: Any, folder: Path, name: str) -> Path:
    """Save what the window shows, at full length."""
    path = folder / f"{name}.png"
    page.screenshot(path=path, full_page=True)
    return path
