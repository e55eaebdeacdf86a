"""Questions about private tables: aggregates, the builder, pricing, and the way from exact integers to an answer."""

from deniable.kernels import Law, Noise
from deniable.query.answering import Answered, answered
from deniable.query.builder import Asker, Key, Query
from deniable.query.drawing import Drawn, drawn
from deniable.query.lowering import Lowered, lowered
from deniable.query.price import Error, Price, priced, solved
from deniable.query.pricing import Bill, Request

__all__ = [
    "Answered",
    "Asker",
    "Bill",
    "Drawn",
    "Error",
    "Key",
    "Law",
    "Lowered",
    "Noise",
    "Price",
    "Query",
    "Request",
    "answered",
    "drawn",
    "lowered",
    "priced",
    "solved",
]
