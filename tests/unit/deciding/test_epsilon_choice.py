"""Choosing epsilon: bounds that are attained, words that keep their numbers, deployments that are never mixed,
decisions with reasons.
"""

from __future__ import annotations

import math
import re
from datetime import date
from fractions import Fraction
from html.parser import HTMLParser

import pytest

from deniable.cost import Neighbours
from deniable.deciding import DEPLOYMENTS, EpsilonDecision, choose_epsilon, compare_deployments, explain_epsilon
from deniable.deciding.attack_power import attack_curve, distance_for, linkage, reconstruction, tracing
from deniable.deciding.deployments import Protected, Trust
from deniable.deciding.plain_words import epsilon_for_truth
from deniable.errors import InvalidArgument
from deniable.exact import exp
from deniable.testing import Seeded

BOOK = {
    "name": "visits",
    "unit": {"id": "patient", "groups": 1, "rows_per_group": 1},
    "tables": {
        "visits": {
            "variables": {
                "patient": "integer",
                "ward": {"type": "string", "categories": ["A", "B", "C"]},
                "smokes": "boolean",
            }
        }
    },
}


def choice(**changes):
    return choose_epsilon(BOOK, **{"harm": "serious", "attack": "tracing", "people": 5_000} | changes)


def randomized_response(values, loss):
    """The exact law of k-ary randomized response: the mechanism that gives away most."""
    grown = math.exp(loss)
    return [[grown if a == b else 1.0 for b in range(values)] for a in range(values)], grown + values - 1


@pytest.mark.parametrize("values", [2, 3, 7])
@pytest.mark.parametrize("loss", [0.0, 0.5, 2.0])
def test_reconstruction_is_attained_by_randomized_response_and_by_nothing_better(values, loss):
    weights, total = randomized_response(values, loss)
    best = sum(max(weights[world][answer] for world in range(values)) for answer in range(values)) / (values * total)
    bound = attack_curve(reconstruction(values=values, distance=1)).at(loss)
    assert best - 1e-12 <= bound <= best + 1e-9
    too_small = attack_curve(reconstruction(values=values, distance=1)).at(loss * 0.9)
    assert loss == 0 or too_small < best  # the bound for a smaller loss would be wrong: the test can tell


@pytest.mark.parametrize("loss", [0.1, 1.0, 3.0])
def test_tracing_power_is_that_of_the_best_test_against_two_answers(loss):
    yes = math.exp(loss) / (1 + math.exp(loss))
    alarm = Fraction(1, 20)
    within = (
        min(float(alarm) / (1 - yes), 1) * yes
        if float(alarm) <= 1 - yes
        else yes + (float(alarm) - (1 - yes)) / yes * (1 - yes)
    )
    assert within - 1e-12 <= attack_curve(tracing(false_alarms=alarm)).at(loss) <= within + 1e-9


def test_linkage_without_a_release_is_guessing_and_grows_twice_as_fast_where_people_are_added():
    curve = attack_curve(linkage(people=1000, distance=2))
    assert curve.at(0) == pytest.approx(1 / 1000)
    assert curve.at(1) == pytest.approx(attack_curve(linkage(people=1000, distance=1)).at(2))
    assert (distance_for(Neighbours.ADD_REMOVE), distance_for(Neighbours.REPLACE)) == (2, 1)


def test_a_delta_adds_and_never_beyond_one():
    plain, more = (attack_curve(reconstruction(values=2, distance=1), delta=d) for d in (0, 0.1))
    assert plain.at(1) < more.at(1) <= 1
    assert more.at(50) == 1.0


def test_curves_rise_and_the_largest_epsilon_is_the_last_that_is_tolerated():
    for attack in (tracing(), reconstruction(values=3, distance=2), linkage(people=50, distance=2)):
        curve = attack_curve(attack)
        assert list(curve.successes) == sorted(curve.successes)
        most = curve.largest(0.75)
        assert curve.at(most) <= 0.75 < curve.at(most + Fraction(1, 100))
    assert attack_curve(reconstruction(values=2, distance=1)).largest(0.4) is None


def test_truth_probabilities_of_the_book():
    assert float(epsilon_for_truth(0.75)) == pytest.approx(1.10, abs=0.005)
    assert float(epsilon_for_truth(0.95)) == pytest.approx(2.94, abs=0.005)
    assert explain_epsilon(epsilon_for_truth(0.75)).truth <= 0.75 + 1e-12
    assert explain_epsilon(epsilon_for_truth(0.75)).of_hundred == (75, 25)
    assert explain_epsilon(0).of_hundred == (50, 50)
    with pytest.raises(InvalidArgument, match="above one half"):
        epsilon_for_truth(0.5)


def test_words_and_picture_agree_with_the_number():
    told = explain_epsilon(1.0986, delta=1e-6)
    assert "75 of 100" in told.sentences[0]
    assert "1e-6" in told.sentences[1]
    assert told.picture().svg.count('fill="#b3541e"') == 100
    samples = told.samples(value=100, count=4000, entropy=Seeded(3))
    assert abs(sum(samples) / 4000 - 100) < 0.2
    assert len(set(samples)) > 5


@pytest.mark.parametrize("epsilon", ["0.1", "0.5", "1", "1.2", "2", "3", "10"])
def test_no_bound_is_said_smaller_than_it_is(epsilon):
    loss, slip = Fraction(epsilon), Fraction(1249, 10**9)
    told = explain_epsilon(loss, delta=slip)
    _, times, right = told.sentences
    (factor,) = map(Fraction, re.findall(r"more than ([^ ]+) times", times))
    (failing,) = map(Fraction, re.findall(r"at most ([^ ]+) the", times))
    (chance,) = re.findall(r"at most ([^ ]+) %", right)
    assert factor >= exp(loss).lower
    assert failing >= slip
    assert Fraction(chance) / 100 >= (exp(loss).lower + slip) / (exp(loss).lower + 1)
    assert factor < exp(loss).upper * Fraction(1001, 1000)


def test_an_epsilon_that_keeps_guesses_low_is_not_said_larger_than_it_is():
    (said,) = re.findall(r"by words: epsilon = ([^ ]+) keeps", str(choice()))
    assert explain_epsilon(Fraction(said)).truth <= 0.75


def test_tables_of_a_choice_round_its_bounds_up():
    decided = choice().decide(1, reason="as the board agreed", by="A. Curator")
    page = decided.page()
    for row in decided.over_time(1) + decided.larger_units(1):
        shown = f"{math.ceil(1000 * row['truth']) / 10:.1f}%"
        assert f"<td>{shown}</td>" in page
    assert "<td>73.2%</td>" in page  # 73.106


def test_unlike_units_periods_and_places_are_never_compared():
    found = compare_deployments(protected=Protected.PERSON, period="day", trust=Trust.CENTRAL)
    assert {each.terms for each in found.alike} == {("person", "day", "by the curator")}
    assert len(found.alike) + len(found.unlike) == len(DEPLOYMENTS)
    assert all(why for _, why in found.unlike)
    assert compare_deployments(protected=Protected.HOUSEHOLD, period="hour").range is None
    alone = compare_deployments(protected=Protected.PERSON, period="day", table=found.alike[:1])
    assert str(alone).startswith("one comparable deployment: ")


def test_every_deployment_has_its_source():
    assert all(each.source and each.year and each.epsilon > 0 for each in DEPLOYMENTS)
    names = [(each.organisation, each.name) for each in DEPLOYMENTS]
    assert len(set(names)) == len(names)


def test_a_choice_shows_three_columns_and_needs_a_reason():
    shown = choice()
    assert shown.start == min(shown.by_attack, shown.by_words)
    page = shown.page()
    assert all(
        word in page for word in ("<h2>Attacks</h2>", "<h2>Deployments</h2>", "<h2>In words</h2>", "Not decided yet")
    )
    for bad in ("", "   ", "because"):
        with pytest.raises(InvalidArgument, match="reason must be written down"):
            shown.decide(1, reason=bad, by="curator")
    decided = shown.decide(1, reason="as the board agreed in May", by="A. Curator", on=date(2026, 5, 4))
    assert EpsilonDecision.from_record(decided.decision.to_record()) == decided.decision
    assert "as the board agreed in May" in decided.page()


def test_the_page_is_whole_html_and_escapes_what_people_write(tmp_path):
    written = (
        choice().decide(1, reason="<script>alert(1)</script> said so", by="<b>me</b>").page(tmp_path / "choice.html")
    )
    assert (tmp_path / "choice.html").read_text(encoding="utf-8") == written
    assert "<script>alert" not in written
    assert "<b>me" not in written

    class Balanced(HTMLParser):
        def __init__(self):
            super().__init__()
            self.open = []

        def handle_starttag(self, tag, attrs):
            if tag not in {"meta", "circle", "rect", "line", "path", "br"}:
                self.open.append(tag)

        def handle_endtag(self, tag):
            if tag not in {"meta"} and self.open and self.open[-1] == tag:
                self.open.pop()

    parser = Balanced()
    parser.feed(written)
    assert parser.open == []


def test_composition_and_larger_units_multiply():
    rows = choice().over_time(0.5, times=(1, 12))
    assert [row["epsilon"] for row in rows] == [0.5, 6.0]
    assert choice().larger_units(0.5, sizes=(4,))[0]["epsilon"] == 2.0
    assert rows[0]["truth"] < rows[1]["truth"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"harm": "terrible"}, "harm must be one of slight"),
        ({"attack": "magic"}, "attack must be one of tracing"),
        ({"people": 1}, "people"),
        ({"delta": 2}, "delta"),
        ({"values": 1}, "values"),
    ],
)
def test_bad_words_are_refused_in_one_line(changes, words):
    with pytest.raises(InvalidArgument, match=words):
        choice(**changes)


def test_the_codebook_says_how_many_values_are_guessed_among_and_for_how_long():
    assert "2 are equally likely" in choice(attack="reconstruction").curve.attack.goal
    daily = {
        **BOOK,
        "unit": {
            "id": "patient",
            "groups": 1,
            "rows_per_group": 1,
            "period": {"column": "day_of_visit", "length": "day"},
        },
    }
    daily["tables"] = {"visits": {"variables": {**BOOK["tables"]["visits"]["variables"], "day_of_visit": "date"}}}
    assert choose_epsilon(daily, harm="grave", attack="linkage", people=100).comparison.range is not None


def test_a_page_that_cannot_be_written_is_refused_in_a_line(tmp_path):
    choice = choose_epsilon(BOOK, harm="serious", attack="tracing", people=1000)
    with pytest.raises(InvalidArgument, match="cannot write"):
        choice.page(tmp_path / "nowhere" / "choice.html")
