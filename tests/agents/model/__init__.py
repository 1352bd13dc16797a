"""A model server of the suite's own: it answers from scripts, and knows what it served.

    model = Model()
    model.script("t1", [Shell("echo hi"), Answer("done")])
    ... an agent is asked "Do it. " + marker("t1") at model.url ...
    model.served("t1")
"""

from .ledger import Exchange, Usage
from .script import Answer, Call, Cut, Fail, Hang, Shell, Step, marker
from .server import Model

__all__ = [
    "Answer", "Call", "Cut", "Exchange", "Fail", "Hang", "Model", "Shell", "Step", "Usage", "marker",
]
