"""A person at a browser: signs in, looks around, and notices everything that should not happen."""

from __future__ import annotations

import time
from base64 import b32decode
from pathlib import Path
from urllib.parse import urlsplit

from axe_playwright_python.sync_playwright import Axe
from django_otp.oath import totp
from playwright.sync_api import ConsoleMessage, Page, Request, Response

SCREENSHOTS = Path(__file__).resolve().parent.parent.parent / "build" / "screenshots"
STEP = 30
GRAVE = ("serious", "critical")
FAULTLESS = "/admin/approvals/"  # pages on which not even a slight fault is borne
NARROW = {"width": 360, "height": 740}
WIDE = {"width": 1280, "height": 860}


class Codes:
    """Codes of everybody's authenticator app; each is used once, as the product demands."""

    def __init__(self) -> None:
        self._last: dict[str, int] = {}

    def next(self, secret: str) -> str:
        """An unused code that is valid now; the next step counts as valid too."""
        now = int(time.time()) // STEP
        step = max(now, self._last.get(secret, -1) + 1)
        assert step <= now + 1, "a test signs in too often within a minute: keep its session"
        self._last[secret] = step
        key = b32decode(secret + "=" * (-len(secret) % 8))
        return f"{totp(key, t0=(now - step) * STEP):06d}"


class Visitor:
    """One browser page with its owner's habits."""

    def __init__(self, page: Page, url: str, *, judges_looks: bool = True) -> None:
        self.page = page
        self.url = url
        self._judges_looks = judges_looks
        self.faults: list[str] = []
        self.expected_status: set[int] = set()
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self.faults.append(f"page error: {error}"))
        page.on("request", self._on_request)
        page.on("response", self._on_response)

    # --- noticing -----------------------------------------------------------------------------
    def _on_console(self, message: ConsoleMessage) -> None:
        # The browser repeats every bad status on the console; those are judged as answers below.
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.faults.append(f"console: {message.text}")

    def _on_request(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in ("data", "blob") and parts.hostname != "127.0.0.1":
            self.faults.append(f"asked an outside host: {request.url}")

    def _on_response(self, response: Response) -> None:
        if response.status >= 400 and response.status not in self.expected_status:
            self.faults.append(f"{response.status}: {response.url}")

    # --- doing --------------------------------------------------------------------------------
    def open(self, path: str) -> int:
        """Go to a page; the status it answered."""
        answer = self.page.goto(self.url + path)
        assert answer is not None
        return answer.status

    def press_enter(self) -> None:
        """Send the form at hand."""
        with self.page.expect_navigation():
            self.page.keyboard.press("Enter")

    def click(self, selector: str) -> None:
        """Press something that leads to another page."""
        with self.page.expect_navigation():
            self.page.click(selector)

    def give_password(self, name: str, password: str) -> None:
        """The first half of signing in."""
        self.page.fill("#id_username", name)
        self.page.fill("#id_password", password)
        self.press_enter()

    def give_code(self, code: str) -> None:
        """The second half."""
        self.page.fill("#id_code", code)
        self.press_enter()

    # --- looking ------------------------------------------------------------------------------
    def menu(self, *groups: str) -> list[str]:
        """The entries of the menu in these groups."""
        wanted = ", ".join(f'[data-menu-group="{group}"] [data-menu-entry]' for group in groups)
        texts = self.page.locator(wanted).locator("a > span:nth-child(2)").all_inner_texts()
        return [text.strip() for text in texts]

    def keep_picture(self, name: str) -> None:
        """A screenshot for people to look at."""
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=SCREENSHOTS / f"{name}.png")

    def judge_looks(self, name: str) -> None:
        """Light and dark without accessibility faults; 360 px without sideways scrolling."""
        if not self._judges_looks:
            return
        for dark in (False, True):
            self._set_dark(dark)
            self.keep_picture(f"{name}-{'dark' if dark else 'light'}")
            faults = self._faults()
            assert not faults, faults
        self._set_dark(False)
        self.page.set_viewport_size(NARROW)  # type: ignore[arg-type]
        self.keep_picture(f"{name}-360")
        width = self.page.evaluate("document.documentElement.scrollWidth")
        assert width <= NARROW["width"], f"{name} scrolls sideways at 360 px: {width}"
        self.page.set_viewport_size(WIDE)  # type: ignore[arg-type]

    def _set_dark(self, dark: bool) -> None:
        # Error pages follow the system's setting, the others the person's choice.
        self.page.emulate_media(color_scheme="dark" if dark else "light")
        self.page.evaluate("dark => document.documentElement.classList.toggle('dark', dark)", dark)

    def _faults(self) -> list[str]:
        found = Axe().run(self.page).response["violations"]
        return [
            f"{fault['impact']} {fault['id']}: {fault['nodes'][0]['html']}"
            for fault in found
            if fault["impact"] in GRAVE or FAULTLESS in self.page.url
        ]
