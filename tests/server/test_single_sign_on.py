"""Log-ins by an identity provider: a real one on loopback, and everything that can be forged on the way back."""

from __future__ import annotations

import time
import warnings
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from deniable.errors import InvalidArgument
from deniable.server.settings import ServerSettings
from deniable.server.single_sign_on import LoginFailed, Provider, SingleSignOn
from tests.needs import require_module
from tests.server.made_up import TestClient, configured, made_up

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the provider, which is not ours

CALLBACK = "http://127.0.0.1:8000/login/done"


@pytest.fixture
def issuer():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mock = require_module("oidc_provider_mock")
    with mock.run_server_in_thread() as running:
        yield f"http://localhost:{running.server_port}"


def walked(address, person):
    """What a person does at the provider: allow it; the address the browser is sent back to."""
    answer = httpx.post(address, data={"sub": person})
    assert answer.status_code in (302, 303), answer.text
    return answer.headers["location"]


@pytest.mark.slow
def test_a_person_comes_in_by_the_provider_and_others_do_not(issuer, tmp_path, monkeypatch):
    monkeypatch.setenv("SECRET", "of this server")
    entry = {"issuer": issuer, "client_id": "deniable", "client_secret": "env:SECRET"}
    server = made_up(tmp_path / "sso", oidc=entry)
    for person, welcome in (("ana", True), ("mallory", False)):
        browser = TestClient(server.client.app, base_url=server.settings.public_url, follow_redirects=False)
        begun = browser.get("/login/provider")
        assert begun.headers["location"].startswith(issuer)
        back = walked(begun.headers["location"], person)
        assert back.startswith(CALLBACK)
        done = browser.get(back.removeprefix(server.settings.public_url))
        assert (done.status_code == 200) == welcome
        assert (browser.get("/").status_code == 200) == welcome
        assert browser.get(back.removeprefix(server.settings.public_url)).status_code != 200 or welcome
    stranger = TestClient(server.client.app, base_url=server.settings.public_url, follow_redirects=False)
    assert stranger.get(back.removeprefix(server.settings.public_url)).status_code in (401, 422)  # another's way back


@pytest.mark.slow
def test_state_nonce_age_audience_and_reuse_are_checked(issuer):
    later = [0.0]
    provider = Provider(issuer=issuer, client_id="deniable", client_secret="x")
    sign_on = SingleSignOn(provider, callback=CALLBACK, clock=lambda: time.time() + later[0])

    def returned(person="ana"):
        id, address = sign_on.begin()
        query = parse_qs(urlsplit(walked(address, person)).query)
        return id, query["state"][0], query["code"][0]

    id, state, code = returned()
    assert sign_on.finish(id, state=state, code=code) == "ana"
    with pytest.raises(LoginFailed):
        sign_on.finish(id, state=state, code=code)
    id, state, code = returned()
    with pytest.raises(LoginFailed):
        sign_on.finish(id, state="another", code=code)
    id, state, code = returned()
    with pytest.raises(LoginFailed):
        sign_on.finish(None, state=state, code=code)
    id, state, code = returned()
    other, other_state, _ = returned()
    with pytest.raises(LoginFailed):
        sign_on.finish(
            other, state=other_state, code=code
        )  # the code of one attempt in another: verifier and nonce differ
    id, state, code = returned()
    later[0] += 601
    with pytest.raises(LoginFailed):
        sign_on.finish(id, state=state, code=code)
    id, state, code = returned()
    later[0] += 90_000
    with pytest.raises(LoginFailed):
        sign_on.finish(id, state=state, code=code)
    id, state, code = returned()
    sign_on._provider = Provider(issuer=issuer, client_id="someone else", client_secret="x")
    with pytest.raises(LoginFailed):
        sign_on.finish(id, state=state, code=code)


@pytest.mark.slow
@pytest.mark.parametrize(("ahead", "welcome"), [(30, True), (600, False)])
def test_a_provider_whose_clock_is_a_little_ahead_is_believed(issuer, ahead, welcome):
    """Its token is issued "in the future": whole seconds, and clocks that differ, must not lock people out."""
    provider = Provider(issuer=issuer, client_id="deniable", client_secret="x")
    sign_on = SingleSignOn(provider, callback=CALLBACK, clock=lambda: time.time() - ahead)
    id, address = sign_on.begin()
    query = parse_qs(urlsplit(walked(address, "ana")).query)
    try:
        assert sign_on.finish(id, state=query["state"][0], code=query["code"][0]) == "ana"
        assert welcome
    except LoginFailed:
        assert not welcome


def test_only_the_issuer_is_ever_called():
    """SSRF: a discovery document that points elsewhere, or speaks for another issuer, is refused."""
    called = []

    def answer(request):
        called.append(str(request.url))
        found = {"issuer": "https://id.example", "authorization_endpoint": "https://id.example/auth"}
        found["token_endpoint"] = "http://169.254.169.254/token"
        return httpx.Response(200, json=found)

    http = httpx.Client(transport=httpx.MockTransport(answer))
    provider = Provider(issuer="https://id.example", client_id="d", client_secret="s")
    sign_on = SingleSignOn(provider, callback=CALLBACK, http=http)
    id, address = sign_on.begin()
    state = parse_qs(urlsplit(address).query)["state"][0]
    with pytest.raises(LoginFailed):
        sign_on.finish(id, state=state, code="x")
    other = SingleSignOn(
        Provider(issuer="https://other.example", client_id="d", client_secret="s"), callback=CALLBACK, http=http
    )
    with pytest.raises(LoginFailed):
        other.begin()
    assert {urlsplit(url).hostname for url in called} == {"id.example", "other.example"}


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"issuer": "http://id.example", "client_id": "d", "client_secret": "env:SECRET"}, "must be https"),
        ({"issuer": "https://id.example", "client_id": "d", "client_secret": "plain"}, "env:NAME"),
        ({"issuer": "https://id.example", "client_id": "d", "client_secret": "env:GONE"}, "env:NAME"),
        ({"issuer": "https://id.example"}, "oidc needs"),
        ("https://id.example", "oidc needs"),
    ],
)
def test_a_provider_is_configured_whole(tmp_path, monkeypatch, entry, words):
    monkeypatch.setenv("SECRET", "x")
    with pytest.raises(InvalidArgument, match=words):
        ServerSettings.load(configured(tmp_path, oidc=entry))


def test_without_a_provider_there_is_no_such_way(server):
    assert server.client.get("/login/provider", follow_redirects=False).status_code == 401
    assert "organisation" not in server.client.get("/login").text
