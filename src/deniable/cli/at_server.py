"""`deniable remote`: price, ask, wait, grant, refuse, publish, sign and amend at a server, from the shell.

The server's address is in --url or DENIABLE_URL; the token in the file named by --token or DENIABLE_TOKEN, never on
the command line.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from deniable.cli.app import application
from deniable.cli.asking import wanted
from deniable.deciding import Checklist, InformationFlow, dossier
from deniable.errors import InvalidArgument
from deniable.server.client import Client, connect

app = application("Ask a server: price, ask, wait, grant, refuse, publish, sign, amend.")

Url = Annotated[str, typer.Option("--url", envvar="DENIABLE_URL", help="The server's address.", show_default=False)]
TokenFile = Annotated[
    str, typer.Option("--token", envvar="DENIABLE_TOKEN", help="The file your token is in.", show_default=False)
]
DataName = Annotated[str, typer.Argument(help="The data set.", show_default=False)]
Sql = Annotated[str, typer.Argument(help="One SELECT.", show_default=False)]
Account = Annotated[str, typer.Argument(help="Who asked.", show_default=False)]
Id = Annotated[str, typer.Argument(help="The request.", show_default=False)]
Epsilon = Annotated[float | None, typer.Option("--epsilon", help="What it may cost.")]
Rho = Annotated[float | None, typer.Option("--rho", help="What it may cost in zero-concentrated privacy.")]
Accuracy = Annotated[list[str] | None, typer.Option("--accuracy", help="A wanted error, name=number.")]


def _client(url: str, token: str) -> Client:
    if token.startswith("dn_"):
        raise InvalidArgument("give the name of a file that holds the token: other people can see command lines")
    return connect(url, token=token)


def _shown(found: Any) -> None:
    print(json.dumps(found, indent=2, ensure_ascii=False))


@app.command()
def datasets(url: Url, token: TokenFile) -> None:
    """The data sets one has a role for."""
    with _client(url, token) as client:
        print("\n".join(client.datasets()))


@app.command()
def price(
    dataset: DataName,
    sql: Sql,
    url: Url,
    token: TokenFile,
    epsilon: Epsilon = None,
    rho: Rho = None,
    accuracy: Accuracy = None,
) -> None:
    """What a question would cost; nothing is spent."""
    with _client(url, token) as client:
        _shown(client.price(dataset, sql=sql, epsilon=epsilon, rho=rho, accuracy=wanted(accuracy)))


@app.command()
def ask(
    dataset: DataName,
    sql: Sql,
    url: Url,
    token: TokenFile,
    purpose: Annotated[str, typer.Option("--purpose", help="What it is for.", show_default=False)],
    epsilon: Epsilon = None,
    rho: Rho = None,
    accuracy: Accuracy = None,
    request: Annotated[str | None, typer.Option("--request", help="An id of your own.")] = None,
) -> None:
    """Ask for a question; prints the request's id."""
    offer: dict[str, Any] = {"epsilon": epsilon, "rho": rho, "accuracy": wanted(accuracy)}
    with _client(url, token) as client:
        made = client.request(dataset, sql=sql, purpose=purpose, request=request, **offer)
        print(f"{made.account} {made.id}\n{made.price}, {made.state}")


@app.command()
def requests(dataset: DataName, url: Url, token: TokenFile) -> None:
    """The requests one may see."""
    with _client(url, token) as client:
        lines = [
            f"{r['account']} {r['request']}  {r['price']}  {r['state']}  {r['purpose']}"
            for r in client.requests(dataset)
        ]
        print("\n".join(lines) or "nobody has asked yet")


@app.command()
def wait(
    dataset: DataName,
    account: Account,
    request: Id,
    url: Url,
    token: TokenFile,
    seconds: Annotated[float, typer.Option("--seconds", help="How long to wait.")] = 600,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """The answer, as soon as it is there."""
    with _client(url, token) as client:
        release = client.fetch(dataset, account, request).wait(seconds=seconds)
        print(release.to_json() if as_json else f"{release}\n\n{release.receipt}")


@app.command("dossier")
def dossier_command(
    dataset: DataName,
    account: Account,
    request: Id,
    target: Annotated[Path, typer.Argument(help="A file: .html, .pdf, .md or .json.", show_default=False)],
    url: Url,
    token: TokenFile,
    checklist: Annotated[
        Path | None, typer.Option(help="The deployment checklist (YAML); else as signed there.")
    ] = None,
    context: Annotated[Path | None, typer.Option(help="The context form (YAML); else as signed there.")] = None,
) -> None:
    """The dossier of an answer, in a file; says what still blocks its publication."""
    with _client(url, token) as client:
        made = dossier(client.fetch(dataset, account, request).release())
        signed = client.checklist(dataset, account, request)["signatures"]
    made = made.checklist(Checklist().signed(signed) if checklist is None else checklist)
    flow = InformationFlow.signed(signed) if context is None else context
    made = made if flow is None else made.context(flow)
    writers: dict[str, Callable[[Path], object]] = {
        ".html": made.to_html,
        ".pdf": made.to_pdf,
        ".md": made.to_markdown,
        ".json": made.to_json,
    }
    if target.suffix not in writers:
        raise InvalidArgument(f"a dossier is written as {', '.join(writers)}, got {target.name!r}")
    writers[target.suffix](target)
    print("\n".join([f"{target} is written", *(f"blocks publication: {each}" for each in made.blockers)]))


@app.command()
def grant(
    dataset: DataName,
    account: Account,
    request: Id,
    url: Url,
    token: TokenFile,
    days: Annotated[int, typer.Option("--days", help="How long it lasts.")] = 7,
    part: Annotated[float | None, typer.Option("--part", help="A smaller amount than was asked.")] = None,
) -> None:
    """For allocators: grant a request."""
    with _client(url, token) as client:
        _shown(client.grant(dataset, account, request, days=days, part=part))


@app.command()
def refuse(
    dataset: DataName,
    account: Account,
    request: Id,
    url: Url,
    token: TokenFile,
    reason: Annotated[str, typer.Option("--reason", help="Why.", show_default=False)],
) -> None:
    """For allocators: refuse a request or withdraw its grant."""
    with _client(url, token) as client:
        _shown(client.refuse(dataset, account, request, reason=reason))


@app.command()
def publish(dataset: DataName, account: Account, request: Id, url: Url, token: TokenFile) -> None:
    """For owners and curators: make an answer readable by everybody with a role."""
    with _client(url, token) as client:
        _shown(client.publish(dataset, account, request))


@app.command()
def checklist(dataset: DataName, account: Account, request: Id, url: Url, token: TokenFile) -> None:
    """The checklist of a request: what is signed, and what still blocks publication."""
    with _client(url, token) as client:
        _shown(client.checklist(dataset, account, request))


@app.command()
def sign(
    dataset: DataName,
    account: Account,
    request: Id,
    item: Annotated[str, typer.Argument(help="The item; `deniable remote checklist` lists them.", show_default=False)],
    url: Url,
    token: TokenFile,
    role: Annotated[str, typer.Option("--role", help="The role you sign in.", show_default=False)],
    text: Annotated[str, typer.Option("--text", help="The answer, or why it does not apply.", show_default=False)],
    applies: Annotated[bool, typer.Option("--applies/--not-applicable", help="Does the item apply here?")] = True,
    link: Annotated[str, typer.Option("--link", help="A link to evidence.")] = "",
    file: Annotated[str, typer.Option("--file", help="A file that is evidence; only its SHA-256 is sent.")] = "",
) -> None:
    """Sign one item of a request's checklist."""
    with _client(url, token) as client:
        more: dict[str, Any] = {"applies": applies, "link": link, "file": file}
        found = client.sign(dataset, account, request, item, role=role, text=text, **more)
        print(f"{item} is signed; {len(found['blocking'])} items still block publication")


@app.command()
def amend(
    dataset: DataName,
    codebook: Annotated[str, typer.Argument(help="The file of the codebook it shall count under.", show_default=False)],
    url: Url,
    token: TokenFile,
    reason: Annotated[str, typer.Option("--reason", help="Why.", show_default=False)],
) -> None:
    """For curators: propose another codebook; the worker takes it up where the data opens under it."""
    with _client(url, token) as client:
        _shown(client.amend(dataset, codebook=codebook, reason=reason))
