import random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from aahcrawler.traps.bloom_filters import BloomFilters, RecentSet
from aahcrawler.traps.sketch import MAX_SKETCHED_LENGTH, distance, fingerprint, shingle_sample, sketch
from aahcrawler.traps.soft_errors import MIN_SHINGLES, NEAR, Neighbours

WORDS = tuple(
    f"{a}{b}{c}" for a in ("dike", "flood", "har", "bo", "storm") for b in "aeiou" for c in ("n", "l", "st", "mp")
)


def text(words: int, seed: int) -> str:
    return " ".join(random.Random(seed).choices(WORDS, k=words))


@given(st.text(max_size=300))
def test_any_text_has_one_sketch(of: str) -> None:
    one, other = sketch(of), sketch(of)
    assert (one.fingerprint, one.size, list(one.shingle_sample)) == (
        other.fingerprint,
        other.size,
        list(other.shingle_sample),
    )
    assert len(set(one.shingle_sample.tolist())) == len(one.shingle_sample)
    assert 0 <= one.fingerprint < 2**64


@given(st.text(st.sampled_from("ab1 .中é\u0301"), max_size=60))
def test_parts_of_a_sketch_are_those_of_the_whole(of: str) -> None:
    assert fingerprint(of) == sketch(of).fingerprint
    assert shingle_sample(of).tolist() == sketch(of).shingle_sample.tolist()


def test_sketches_are_what_they_were_as_folders_of_crawls_hold_them() -> None:
    text = "The dike held until 1953, and then 堤防 broke: 40 houses on B12 street stood in the water for a fortnight."
    kept = sketch(text)
    assert (kept.fingerprint, kept.size) == (0x30320181CAC260BE, 20)
    assert kept.shingle_sample.tolist() == [0x4F1F174382B658F8, 0x53F76B11F723E1A0, 0xE540CB15B8518630]


def test_case_punctuation_and_space_do_not_matter() -> None:
    one = sketch("The dike -- held. Nobody was hurt!")
    assert sketch("the DIKE held nobody\n was  hurt").fingerprint == one.fingerprint


def test_a_text_without_spaces_has_shingles_too() -> None:
    assert sketch("大坝在早晨决堤了").size == 6
    assert sketch("댐이 아침에 무너졌다").size == 1


def test_a_word_changed_in_a_long_text_is_a_near_duplicate_and_another_text_is_not() -> None:
    whole = text(900, seed=1)
    near = whole.replace(whole.split()[450], "unheard", 1)
    assert distance(sketch(whole).fingerprint, sketch(near).fingerprint) <= NEAR
    assert distance(sketch(whole).fingerprint, sketch(text(900, seed=2)).fingerprint) > 12


def test_what_differs_in_numbers_alone_says_the_same() -> None:
    months = [
        sketch(f"Mo Tu We Th Fr Sa Su {' '.join(map(str, range(n, n + 31)))} events of {2000 + n}") for n in range(9)
    ]
    assert len({tuple(month.shingle_sample) for month in months}) == 1
    assert len({month.fingerprint for month in months}) > 1


def test_of_a_long_text_both_ends_count() -> None:
    middle = "x " * MAX_SKETCHED_LENGTH
    one = sketch(f"begin of it all {middle} the end of it all")
    assert one.fingerprint != sketch(f"begin of it all {middle} another end of it").fingerprint
    assert sketch("İ" * 4 * MAX_SKETCHED_LENGTH).size == 1


def test_a_page_is_compared_with_pages_of_its_own_site() -> None:
    neighbours, page = Neighbours(), sketch(text(200, seed=3))
    neighbours.add("http://a.test/1", "a.test", page)
    found = neighbours.nearest("a.test", page)
    assert found is not None
    assert (found.url, found.is_near) == ("http://a.test/1", True)
    assert neighbours.nearest("b.test", page) is None


def test_little_text_is_no_duplicate_but_may_be_the_same() -> None:
    neighbours = Neighbours()
    little = sketch(text(MIN_SHINGLES // 2, seed=4))
    neighbours.add("http://a.test/1", "a.test", little)
    found = neighbours.nearest("a.test", little)
    assert found is not None
    assert not found.is_near
    assert neighbours.nearest("a.test", sketch("")) is None
    assert neighbours.nearest("a.test", sketch(text(MIN_SHINGLES // 2, seed=5))) is None


def test_the_oldest_pages_are_forgotten_and_a_restored_state_goes_on() -> None:
    neighbours = Neighbours(capacity=5)
    pages = [sketch(text(100, seed)) for seed in range(8)]
    for number, page in enumerate(pages):
        neighbours.add(f"http://a.test/{number}", "a.test", page)
        neighbours = Neighbours.restored(neighbours.state(), capacity=5)
    assert len(neighbours) == 5
    known = [neighbours.nearest("a.test", page) for page in pages]
    assert [found.url if found else None for found in known] == [None] * 3 + [f"http://a.test/{n}" for n in range(3, 8)]


def test_what_was_heard_is_not_new() -> None:
    heard = BloomFilters()
    shingle_sample = [sketch(text(2000, seed)).shingle_sample for seed in range(30)]
    assert all(heard.new(each).sum() > 0.9 * len(each) for each in shingle_sample)
    assert [heard.new(each).sum() for each in shingle_sample] == [0] * 30


def test_memory_is_bounded_and_the_last_is_still_known() -> None:
    heard, chance = BloomFilters(most_bits=1 << 17), np.random.default_rng(1)
    for _ in range(300):
        shingle_sample = chance.integers(0, 2**64, 300, np.uint64)
        assert heard.new(shingle_sample).sum() > 280
        assert heard.new(shingle_sample).sum() < 10, (
            "a few were taken for known, and what they were taken for is forgotten"
        )
        assert heard.size <= 3 * (1 << 17) // 8
    restored = BloomFilters.restored(heard.state(), most_bits=1 << 17)
    assert restored.new(shingle_sample).sum() < 10


def test_lately_forgets_the_oldest() -> None:
    lately = RecentSet(10)
    assert [lately.knows(n) for n in (1, 2, 1)] == [False, False, True]
    assert not any(lately.knows(n) for n in range(100, 200))
    assert not lately.knows(1)
    assert lately.knows(199)
