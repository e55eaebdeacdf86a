"""`deniable attack`: watch an attack on made-up people."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from deniable import attacks
from deniable.attacks.curators import Curator, PrivateCurator, UnbudgetedCurator
from deniable.cli.app import application
from deniable.exact import number_of
from deniable.exact.guards import positive

app = application("Attack made-up data, and see what differential privacy does to the attack.")

People = Annotated[int, typer.Option(help="How many made-up people.")]


class LaplaceCurator(UnbudgetedCurator):
    """NOT PRIVATE: fresh noise of one scale on every answer."""

    scale: Any = 1

    def count(self, ids: Any, *, phrase: str = "") -> float | None:
        return float(self._true(ids) + self._noise(self.scale))


@app.command()
def reconstruction(
    people: People = 400,
    queries: Annotated[int, typer.Option(help="How many counts are asked.")] = 800,
    noise: Annotated[float, typer.Option(help="The scale of the noise on each count; 0 for none.")] = 0.0,
    epsilon: Annotated[float | None, typer.Option(help="Instead: a total epsilon for all counts.")] = None,
    method: Annotated[str, typer.Option(help="least squares, or lp.")] = "least squares",
) -> None:
    """Work out everybody's bit from counts about random groups."""
    made_up = attacks.made_up_people(people)
    curator: Curator = Curator(made_up)
    if epsilon is not None:
        curator = PrivateCurator(made_up, epsilon=epsilon, questions=queries)
    elif noise:
        curator = LaplaceCurator(made_up)
        curator.scale = positive(noise=noise)
    found = attacks.reconstruct(curator, people=people, queries=queries, method=method)
    print(
        f"{found.accuracy:.1%} of {people} made-up bits found from {number_of(found.answered, 'answer')}; "
        f"guessing gets {found.base_rate:.1%}"
    )


_FORMS = {"centred": "the test that works", "printed": "the test as it is often printed (errata, E23)"}


@app.command()
def tracing(
    people: People = 50,
    attributes: Annotated[int, typer.Option(help="How many means are released.")] = 1000,
    epsilon: Annotated[float | None, typer.Option(help="Laplace noise on the means, in all.")] = None,
) -> None:
    """Find out who is in the data behind released means."""
    members, means, others = attacks.tracing_world(people, attributes, epsilon=epsilon)
    for form in _FORMS:
        power = attacks.trace(members, means, reference=others, form=form).power_at(0.05)
        print(f"{_FORMS[form]}: {power:.1%} of the members found at 5% false alarms")


@app.command()
def matrix(
    people: People = 120,
    html: Annotated[Path | None, typer.Option(help="Write the table to this file.")] = None,
    svg: Annotated[Path | None, typer.Option(help="Write the picture to this file.")] = None,
) -> None:
    """Every strawman curator against every attack, differential privacy last."""
    found = attacks.matrix(
        attacks.strawmen(), attacks.every(), people=attacks.made_up_people(people), targets=min(100, people)
    )
    print(found)
    if html is not None:
        html.write_text(found.to_html(), encoding="utf-8")
    if svg is not None:
        svg.write_text(found.plot().svg, encoding="utf-8")
