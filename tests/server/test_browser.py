"""The main story in a real browser, at two widths, without scripts, with a scan for accessibility."""

from __future__ import annotations

import pytest

from tests.needs import require, require_module
from tests.server.made_up import SQL

WIDTHS = [360, 1280]


def logged_in(browser, server, person, width):
    context = browser.new_context(viewport={"width": width, "height": 800}, java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{server.settings.public_url}/login")
    page.get_by_label("Your personal token").fill(server.secrets[person])
    page.get_by_role("button", name="Log in").press("Enter")
    assert page.get_by_text(person, exact=True).is_visible()
    return page


def scanned(browser, server, person, paths, width):
    """Of each page how far it is wider than the window, and what breaks the accessibility rules; the scanner needs scripts."""
    from axe_playwright_python.sync_playwright import Axe

    context = browser.new_context(viewport={"width": width, "height": 800}, bypass_csp=True)
    page = context.new_page()
    page.goto(f"{server.settings.public_url}/login")
    page.get_by_label("Your personal token").fill(server.secrets[person])
    page.get_by_role("button", name="Log in").click()
    for path in paths:
        page.goto(f"{server.settings.public_url}{path}")
        overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        found = Axe().run(page).response["violations"]
        yield path, max(overflow, 0), [(each["id"], each["nodes"][0]["html"][:120]) for each in found]
    context.close()


@pytest.mark.slow
def test_the_story_in_a_browser(listening):
    require_module("playwright")
    require_module("axe_playwright_python")
    chromium = require("chromium")
    from playwright.sync_api import sync_playwright

    server = listening
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=str(chromium), args=["--no-sandbox"])
        for width in WIDTHS:
            analyst = logged_in(browser, server, "ana", width)
            analyst.get_by_role("link", name="Ask visits").click()
            analyst.get_by_label("Question, in SQL").fill(f"{SQL} HAVING count(*) > {width - 2000}")
            analyst.get_by_label("What it may cost").fill(str(width / 10000))
            analyst.get_by_role("button", name="Show the price").click()
            assert analyst.get_by_role("heading", name="Price").is_visible()
            assert analyst.get_by_role("img").first.get_attribute("alt")
            analyst.get_by_label("Purpose").fill("a report")
            analyst.get_by_role("button", name="Ask for it").click()
            assert analyst.get_by_text("pending").is_visible()
            address = analyst.url
            allocator = logged_in(browser, server, "alma", width)
            allocator.goto(address)
            allocator.get_by_label("Days it lasts").fill("3")
            allocator.get_by_role("button", name="Grant").click()
            assert allocator.get_by_text("approved").is_visible()
            server.work()
            analyst.reload()
            assert analyst.get_by_role("heading", name="Answer").is_visible()
            assert analyst.get_by_role("cell", name="=A", exact=True).first.is_visible()
            owner = logged_in(browser, server, "olga", width)
            owner.goto(address)
            owner.get_by_role("button", name="Publish").click()
            assert owner.get_by_text("published").first.is_visible()
            auditor = logged_in(browser, server, "audra", width)
            auditor.goto(f"{server.settings.public_url}/data/visits/ledger")
            assert auditor.get_by_text("The chain is sound").is_visible()
            curator = logged_in(browser, server, "carl", width)
            curator.goto(f"{server.settings.public_url}/data/visits")
            curator.get_by_role("link", name="Codebook").press("Enter")  # keys alone
            text = curator.get_by_label("Codebook, in YAML").input_value()
            kept = [line for line in text.splitlines() if not line.startswith("description:")]
            curator.get_by_label("Codebook, in YAML").fill("\n".join([f"description: at {width}", *kept]))
            curator.get_by_role("button", name="Show what changes").press("Enter")
            assert curator.get_by_text(f"becomes at {width}").is_visible()
            curator.get_by_label("Reason").fill("a word more")
            curator.get_by_role("button", name="Propose the amendment").press("Enter")
            assert curator.get_by_role("cell", name="open", exact=True).is_visible()
            server.work()
            curator.reload()
            assert curator.get_by_role("cell", name="amended", exact=True).first.is_visible()
            assert list(scanned(browser, server, "carl", ("/data/visits/codebook",), width)) == [
                ("/data/visits/codebook", 0, [])
            ]
            path = address.removeprefix(server.settings.public_url)
            pages = ("/", "/data/visits", "/data/visits/ask", path, "/data/visits/choose", "/data/visits/requests")
            assert list(scanned(browser, server, "olga", pages, width)) == [(page, 0, []) for page in pages]
        browser.close()
