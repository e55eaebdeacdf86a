"""Who may see and do what with one request: rules in one place, used by REST and pages alike.

What somebody may not see looks like what is not there: both are `NotFound`.
"""

from __future__ import annotations

from deniable.errors import DeniableError, InvalidArgument
from deniable.ledger import Application, Progress
from deniable.server.counter import Counter
from deniable.server.settings import Person, Role


class NotFound(DeniableError):
    """Nothing there, or nothing for this person: the two look the same."""

    def __init__(self) -> None:
        super().__init__("there is nothing here for you; check the address and your roles")


class NotAllowed(DeniableError):
    """Something this person can see but not do."""


OVERSEERS = (Role.OWNER, Role.CURATOR, Role.ALLOCATOR, Role.AUDITOR)
"""Roles that see every request of a data set (not its answer)."""


def visible_dataset(person: Person, name: str, counters: dict[str, Counter]) -> Counter:
    """A data set this person has any role for."""
    counter = counters.get(name)
    if counter is None or not person.may(name, *Role):
        raise NotFound
    return counter.refresh()


def visible_requests(person: Person, counter: Counter) -> tuple[Application, ...]:
    """All requests for overseers; one's own and what is published for others."""
    found = counter.ledger.desk.all()
    if person.may(counter.data.name, *OVERSEERS):
        return found
    return tuple(each for each in found if each.account == person.name or each.progress is Progress.PUBLISHED)


def visible_request(person: Person, counter: Counter, account: str, request: str) -> Application:
    """One request, if this person may see it."""
    for each in visible_requests(person, counter):
        if (each.account, each.request) == (account, request):
            return each
    raise NotFound


def readable_answer(person: Person, counter: Counter, account: str, request: str) -> Application:
    """A request whose answer this person may read: one's own, or a published one; an auditor reads no other."""
    known = visible_request(person, counter, account, request)
    if known.account != person.name and known.progress is not Progress.PUBLISHED:
        if known.progress is Progress.RELEASED and person.may(counter.data.name, Role.OWNER):
            return known
        raise NotFound
    if known.progress not in (Progress.RELEASED, Progress.PUBLISHED):
        raise InvalidArgument(f"this request is {known.progress.value}; there is no answer yet")
    return known


def check_role(person: Person, counter: Counter, *roles: Role) -> None:
    """Refuse what none of these roles allows, in words that name them."""
    if not person.may(counter.data.name, *roles):
        names = " or ".join(role.value for role in roles)
        raise NotAllowed(f"this needs the role {names} for {counter.data.name}")
