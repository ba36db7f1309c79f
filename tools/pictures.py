"""Takes the pictures of docs/tutorial.md: commands in a terminal and pages of the dashboard, as they are.

    python tools/pictures.py FOLDER ADDRESS

FOLDER is one in which the tutorial was followed up to its dashboard; ADDRESS is where `vedette serve` answers there.
What a terminal shows is what the commands print, drawn by Chromium in letters of one width.
"""

from __future__ import annotations

import html
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "img"
PROGRAM = Path(sys.executable).parent
STYLE = (
    "body{margin:0;background:#fff}"
    "pre{margin:0;padding:14px 18px;background:#16202b;color:#e6edf3;display:inline-block;"
    "font:14px/1.45 'DejaVu Sans Mono',monospace}b{color:#7ee787;font-weight:normal}"
)
TERMINAL = {
    "tutorial-change.png": ("vedette changes", "vedette diff --words 1"),
    "tutorial-why.png": ("vedette why-not http://127.0.0.1:8000/prices.html", "vedette evidence verify"),
}
PAGES = {
    "tutorial-overview.png": "/",
    "tutorial-diff.png": "/changes/1",
}


def main() -> int:
    folder, address = Path(sys.argv[1]), sys.argv[2]
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1100, "height": 760})
        for name, commands in TERMINAL.items():
            _terminal(page, folder, commands, IMAGES / name)
        for name, path in PAGES.items():
            page.goto(address + path)
            page.screenshot(path=str(IMAGES / name))
        browser.close()
    return 0


def _terminal(page: Page, folder: Path, commands: tuple[str, ...], place: Path) -> None:
    lines = []
    for command in commands:
        done = subprocess.run(
            [str(PROGRAM / command.split()[0]), *command.split()[1:]],
            cwd=folder, capture_output=True, text=True, timeout=120, check=True,
        )  # fmt: skip
        lines += [f"<b>$ {html.escape(command)}</b>", html.escape(done.stdout.rstrip())]
    page.set_content(f"<style>{STYLE}</style><pre>{chr(10).join(lines)}</pre>")
    page.locator("pre").screenshot(path=str(place))


if __name__ == "__main__":
    sys.exit(main())
