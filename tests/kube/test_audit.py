"""What a watch has to explain after a comparison, and until when."""

from random import Random

from isthmus.kube.audit import Auditor, Intervals
from isthmus.model.objects import Key

WEB, DB = Key("shop", "web"), Key("shop", "db")
GRACE = Intervals().grace


def suspecting(*keys: Key) -> Auditor:
    auditor = Auditor(Random(1), Intervals())
    auditor.suspect(set(keys), 0.0)
    auditor.opened(0.0)
    return auditor


def test_one_difference_that_is_explained_does_not_excuse_another() -> None:
    auditor = suspecting(WEB, DB)
    auditor.explained(WEB)
    assert auditor.due_at == GRACE
    assert auditor.lost(GRACE - 1) == 0
    assert auditor.lost(GRACE) == 1


def test_once_all_differences_are_explained_nothing_was_lost() -> None:
    auditor = suspecting(WEB, DB)
    auditor.explained(WEB)
    auditor.explained(DB)
    assert auditor.lost(GRACE) == 0
