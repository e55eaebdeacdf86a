"""The story in a real browser by keys alone: with and without scripts, at two widths, with a scan for accessibility."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest

from deniable.cli import main
from tests.needs import require, require_module
from tests.server.conftest import free_port, on_port
from tests.server.made_up import SQL, set_up

WIDTHS = [360, 1280]


@pytest.fixture
def browser():
    require_module("playwright")
    require_module("axe_playwright_python")
    chromium = require("chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        found = play.chromium.launch(executable_path=str(chromium), args=["--no-sandbox"])
        yield found
        found.close()


def logged_in(browser, server, person, width, *, scripts=False):
    context = browser.new_context(viewport={"width": width, "height": 800}, java_script_enabled=scripts)
    page = context.new_page()
    page.goto(f"{server.settings.public_url}/login")
    page.get_by_label("Your personal token").fill(server.secrets[person])
    page.get_by_role("button", name="Log in").press("Enter")
    page.get_by_text(person, exact=True).wait_for()  # the page may still be on its way
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
@pytest.mark.parametrize(("width", "scripts"), [(360, True), (1280, False)])
def test_the_story_by_keys_alone(listening, browser, width, scripts):
    server, url = listening, listening.settings.public_url
    analyst = logged_in(browser, server, "ana", width, scripts=scripts)
    analyst.get_by_role("link", name="Ask visits").press("Enter")
    analyst.get_by_label("Question, in SQL").fill(f"{SQL} HAVING count(*) > {width - 2000}")
    analyst.get_by_label("What it may cost").fill(str(width / 10000))
    analyst.get_by_role("button", name="Show the price").press("Enter")
    analyst.get_by_role("heading", name="Price").wait_for()
    for drawing in analyst.get_by_role("img").all():
        assert "the table below has the numbers" in drawing.get_attribute("alt")
    assert analyst.get_by_text("The same as a table").count() == analyst.get_by_role("img").count() == 3
    analyst.get_by_label("Purpose").fill("a report")
    analyst.get_by_role("button", name="Ask for it").press("Enter")
    analyst.get_by_text("pending").wait_for()
    address = analyst.url
    allocator = logged_in(browser, server, "alma", width, scripts=scripts)
    allocator.goto(address)
    allocator.get_by_label("Days it lasts").fill("3")
    allocator.get_by_role("button", name="Grant").press("Enter")
    allocator.get_by_text("approved").wait_for()
    server.work()
    analyst.reload()
    analyst.get_by_role("heading", name="Answer").wait_for()
    assert analyst.get_by_role("cell", name="=A", exact=True).first.is_visible()
    owner = logged_in(browser, server, "olga", width, scripts=scripts)
    owner.goto(address)
    owner.get_by_role("link", name="Checklist").press("Enter")
    owner.get_by_role("link", name="Sign: Who will read the release").press("Enter")
    owner.get_by_label("Remark").fill("the wards")
    owner.get_by_label("SHA-256").fill("ab" * 32)
    owner.get_by_role("button", name="Sign").press("Enter")
    owner.get_by_text("olga, owner").wait_for()
    assert owner.get_by_text("ab" * 32).is_visible()
    owner.goto(address)
    owner.get_by_role("button", name="Publish").press("Enter")
    owner.get_by_text("published").first.wait_for()
    auditor = logged_in(browser, server, "audra", width, scripts=scripts)
    auditor.goto(f"{url}/data/visits/ledger")
    auditor.get_by_text("The chain is sound").wait_for()
    if not scripts:
        amended(server, logged_in(browser, server, "carl", width), f"at {width}")
    path = address.removeprefix(url)
    pages = ("/", "/data/visits", "/data/visits/ask", path, f"{path}/checklist", f"{path}/context")
    pages += ("/data/visits/choose", "/data/visits/requests", "/data/visits/ledger")
    assert list(scanned(browser, server, "olga", pages, width)) == [(page, 0, []) for page in pages]
    book = ("/data/visits/codebook",)
    assert list(scanned(browser, server, "carl", book, width)) == [(book[0], 0, [])]


def amended(server, curator, words):
    """A curator edits the codebook, reads what changes, proposes it, and the worker takes it up."""
    curator.goto(f"{server.settings.public_url}/data/visits")
    curator.get_by_role("link", name="Codebook").press("Enter")
    text = curator.get_by_label("Codebook, in YAML").input_value()
    kept = [line for line in text.splitlines() if not line.startswith("description:")]
    curator.get_by_label("Codebook, in YAML").fill("\n".join([f"description: {words}", *kept]))
    curator.get_by_role("button", name="Show what changes").press("Enter")
    curator.get_by_text(f"becomes {words}").wait_for()
    curator.get_by_label("Reason").fill("a word more")
    curator.get_by_role("button", name="Propose the amendment").press("Enter")
    curator.get_by_role("cell", name="open", exact=True).wait_for()
    server.work()
    curator.reload()
    curator.get_by_role("cell", name="amended", exact=True).first.wait_for()


@pytest.mark.slow
@pytest.mark.parametrize("width", WIDTHS)
def test_what_the_script_adds(listening, browser, width):
    """A price while one writes, with nothing loaded from elsewhere; a hash of a file that is not sent."""
    server, url = listening, listening.settings.public_url
    page = logged_in(browser, server, "ana", width, scripts=True)
    called, failed = [], []
    page.on("request", lambda request: called.append(request.url))
    page.on("pageerror", lambda error: failed.append(str(error)))
    page.goto(f"{url}/data/visits/ask")
    order = ("Skip to the content", "Data sets", "Log out", "visits", "Question, in SQL", "What it may cost")
    assert [tabbed(page) for _ in order][:4] == list(order[:4])
    page.get_by_label("Question, in SQL").press_sequentially(SQL)
    page.keyboard.press("Tab")
    page.keyboard.type("0.1")
    page.get_by_role("heading", name="Price").wait_for()
    assert page.get_by_role("img").count() == 3
    page.keyboard.press("Backspace")
    page.keyboard.type("x")
    page.get_by_role("alert").wait_for()  # told below the form, which keeps what is being written
    assert page.get_by_label("What it may cost").input_value() == "0.x"
    assert server.call("olga", "GET", "/datasets/visits/requests").json() == []
    server.ask()
    page.goto(f"{url}/data/visits/requests/ana/r1/checklist")
    page.locator("#file").set_input_files(
        files=[{"name": "a.pdf", "mimeType": "application/pdf", "buffer": b"minutes"}]
    )
    page.wait_for_function("document.getElementById('file_hash').value.length === 64")
    assert page.get_by_label("SHA-256").input_value() == hashlib.sha256(b"minutes").hexdigest()
    assert failed == []
    assert all(each.startswith((url, "data:")) for each in called)


def tabbed(page):
    """Press Tab; the text of what has the focus then."""
    page.keyboard.press("Tab")
    return page.evaluate("document.activeElement.textContent.trim()")


PICTURES = Path(__file__).parents[2] / "docs" / "server"
"""The pictures on the server's page, and the words that stood on the pages when they were taken."""
WORDS = "[...document.querySelectorAll('h1, h2, label, button, caption, th, dt')].map(each => each.innerText)"
VISITS_SQL = "SELECT specialty, avg(duration) AS minutes FROM visits GROUP BY specialty"


def pictured(browser, folder):
    """A picture of each page with made-up visits, and its words: a question with its price, its answer, the budget."""
    main(["serve", "demo", str(folder), "--prepare"])
    config, port = folder / "server.yaml", free_port()
    place = f"port: {port}\npublic_url: http://127.0.0.1:{port}\n"
    config.write_text(place + config.read_text(encoding="utf-8").replace("tick_seconds: 1", "tick_seconds: 0"))
    server = set_up(config, people=("owner", "allocator", "analyst"))
    with on_port(server.client.app, port):
        context = browser.new_context(viewport={"width": 1000, "height": 860}, java_script_enabled=False)
        page = context.new_page()
        page.goto(f"{server.settings.public_url}/login")
        page.get_by_label("Your personal token").fill(server.secrets["owner"])
        page.get_by_role("button", name="Log in").click()
        page.goto(f"{server.settings.public_url}/data/visits/ask")
        page.get_by_label("Question, in SQL").fill(VISITS_SQL)
        page.get_by_label("What it may cost").fill("0.5")
        page.get_by_label("Purpose").fill("yearly report")
        page.get_by_role("button", name="Show the price").click()
        page.get_by_role("heading", name="Price").wait_for()
        yield "ask", page.screenshot(full_page=True), page.evaluate(WORDS)
        server.ask("analyst", request="yearly", sql=VISITS_SQL, epsilon=0.5)
        server.grant("analyst", request="yearly", by="allocator")
        server.work()
        for name, path in (("answer", "/data/visits/requests/analyst/yearly"), ("budget", "/data/visits")):
            page.goto(f"{server.settings.public_url}{path}")
            shown = page.locator("section", has=page.get_by_role("heading", name=name.capitalize()))
            yield name, shown.screenshot(), page.evaluate(WORDS)


@pytest.mark.slow
def test_the_pictures_on_the_page_are_of_these_pages(browser, tmp_path):
    """`DENIABLE_PICTURES=1` takes them anew; without it, a page that has other words than its picture is named."""
    taken = {name: (picture, words) for name, picture, words in pictured(browser, tmp_path / "demo")}
    if os.environ.get("DENIABLE_PICTURES"):
        PICTURES.mkdir(exist_ok=True)
        for name, (picture, _) in taken.items():
            (PICTURES / f"{name}.png").write_bytes(picture)
        told = {name: words for name, (_, words) in taken.items()}
        (PICTURES / "words.json").write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    known = json.loads((PICTURES / "words.json").read_text(encoding="utf-8"))
    assert {name: words for name, (_, words) in taken.items()} == known
    page = (PICTURES.parent / "server.md").read_text(encoding="utf-8")
    for name, (picture, _) in taken.items():
        kept = (PICTURES / f"{name}.png").read_bytes()
        assert kept[:20] == picture[:20], "a picture as wide as the page is"
        assert f"](server/{name}.png)" in page
