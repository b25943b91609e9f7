import gc

from aahcrawler.crawl.health.disk_space import YOUNG, seldom_collected, spare, uncollected


def test_collecting_is_as_usual_again_afterwards() -> None:
    usual, frozen = gc.get_threshold(), gc.get_freeze_count()
    with seldom_collected():
        assert gc.get_threshold() == (YOUNG, *usual[1:])
        spare()
        assert gc.get_freeze_count() > frozen
    assert gc.get_threshold() == usual
    assert gc.get_freeze_count() == 0


def test_nothing_is_collected_until_the_block_ends() -> None:
    with uncollected():
        assert not gc.isenabled()
        with uncollected():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()
