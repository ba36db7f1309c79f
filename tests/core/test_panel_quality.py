"""What is wrong with an answer, and what can be counted in it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.contracts.panel_run import QualityFlag
from vedette.core.panel.quality import (
    REFUSAL_CHARS,
    AskedAnswer,
    Repeats,
    flag_of,
    is_on_topic,
    is_refusal,
    scores_of,
    text_key,
)

HGK = AskedAnswer(
    domain="hgk.hr", text="What do you know about the organisation behind hgk.hr and its registers?"
)
PU = AskedAnswer(domain="porezna-uprava.gov.hr", text="Čime se bavi ustanova iza porezna-uprava.gov.hr?")
GOOD = "hgk.hr is the site of the Croatian Chamber of Economy."


def test_a_plain_answer_is_ok():
    assert flag_of(GOOD, HGK, finish="stop") is QualityFlag.OK
    assert flag_of(GOOD, HGK) is QualityFlag.OK


@pytest.mark.parametrize("text", ["", " \n\t ", "...", "—", "\u200b", "***"])
def test_no_letter_and_no_digit_is_empty(text: str):
    assert flag_of(text, HGK, finish="length") is QualityFlag.EMPTY


REFUSALS = [
    "I'm sorry, but I can't assist with that request.",
    "I’m sorry, but I can’t help with that.",
    "I cannot provide information about that organisation.",
    "I am unable to answer questions about hgk.hr.",
    "As an AI language model, I cannot browse the internet.",
    "Sorry! I won't discuss this.",
    "Žao mi je, ali ne mogu pomoći s tim zahtjevom.",
    "Nažalost, o tome ne smijem govoriti.",
    "Ne mogu vam odgovoriti na to pitanje.",
    "Nisam u mogućnosti dati podatke o hgk.hr.",
    "Kao AI, o tome ne mogu govoriti.",
]
NO_REFUSALS = [
    "The organisation cannot provide visas; hgk.hr says so.",
    "I'm sorry to say that hgk.hr is down today.",
    "Members can't help but notice that hgk.hr has grown.",
    "Na hgk.hr ne možete platiti karticom.",
    "I don't have information about hgk.hr.",
    GOOD,
]


@pytest.mark.parametrize("text", REFUSALS)
def test_a_refusal_is_told_in_english_and_in_croatian(text: str):
    assert flag_of(text, HGK) is QualityFlag.REFUSAL
    assert is_refusal(text.upper()) == is_refusal(text)


@pytest.mark.parametrize("text", NO_REFUSALS)
def test_an_answer_that_only_sounds_like_one_is_no_refusal(text: str):
    assert not is_refusal(text)


def test_a_long_text_that_begins_with_sorry_goes_on_to_answer():
    begun = "I'm sorry, I can't browse, but from what I know: "
    assert is_refusal(begun)
    assert not is_refusal(begun + "hgk.hr is a chamber. " * (REFUSAL_CHARS // 20))


@pytest.mark.parametrize("finish", ["length", "filter"])
def test_what_ran_out_of_tokens_or_was_cut_is_truncated(finish: str):
    assert flag_of(GOOD, HGK, finish=finish) is QualityFlag.TRUNCATED


ON_TOPIC = [
    (HGK, "HGK was founded in 1852."),
    (HGK, "Hrvatska gospodarska komora okuplja gospodarstvenike."),  # the initials
    (HGK, "It keeps public registers of its members."),  # a word of the question
    (PU, "Porezna uprava prikuplja poreze."),
    (PU, "To je ustanova u sastavu ministarstva."),
    (AskedAnswer(domain="openstreetmap.org", text="Who runs it?"), "Open Street Map is run by a foundation."),
    (AskedAnswer(domain="x.hr", text="Who?"), "Nothing in this question could be shared."),  # cannot be told
]


@pytest.mark.parametrize(("asked", "text"), ON_TOPIC)
def test_a_text_that_could_be_about_the_domain_is_on_topic(asked: AskedAnswer, text: str):
    assert is_on_topic(text, asked)


@pytest.mark.parametrize("asked", [HGK, PU])
def test_a_text_that_shares_nothing_is_off_topic(asked: AskedAnswer):
    text = "Bananas ripen faster in a closed paper bag."
    assert flag_of(text, asked) is QualityFlag.OFF_TOPIC


def test_the_same_words_about_another_domain_are_a_duplicate():
    repeats = Repeats()
    text = "{} is a well known site with registers."
    assert not repeats.is_repeated("m", "about", "hgk.hr", text.format("hgk.hr"))
    assert not repeats.is_repeated(
        "m", "about", "hgk.hr", text.format("hgk.hr")
    )  # asked again, the same domain
    assert repeats.is_repeated("m", "about", "hup.hr", text.format("HUP.hr"))
    assert not repeats.is_repeated("other", "about", "hup.hr", text.format("hup.hr"))
    assert not repeats.is_repeated("m", "news", "hup.hr", text.format("hup.hr"))
    assert flag_of(GOOD, HGK, is_repeated=True) is QualityFlag.DUPLICATE


def test_what_is_remembered_is_bounded():
    repeats = Repeats(most=10)
    for n in range(100):
        repeats.is_repeated("m", "p", f"{n}.hr", f"text {n}")
    assert len(repeats._first) == 10


def test_scores_are_counts():
    text = "HGK (hgk.hr) vodi registre. Vidi www.hgk.hr; hgk.hrvatska i hgkx nisu to."
    scores = scores_of(text, "hgk.hr", ("https://hgk.hr/a", "https://www.HGK.hr", "https://x.hr/hgk.hr"))
    assert (scores.chars, scores.words) == (len(text), 15)
    assert scores.mentions == 3 + 1  # hgk.hr, www.hgk.hr, the head of hgk.hrvatska; and HGK
    assert (scores.citations, scores.own_citations) == (3, 2)


@given(
    st.text(max_size=400),
    st.text(max_size=30),
    st.text(max_size=100),
    st.sampled_from(["", "stop", "length"]),
)
def test_any_text_has_a_flag_scores_and_a_key(text: str, domain: str, question: str, finish: str):
    assert flag_of(text, AskedAnswer(domain=domain, text=question), finish=finish) in QualityFlag
    scores = scores_of(text, domain, (text,))
    assert scores.words <= scores.chars == len(text)
    assert text_key("s", domain, text) == text_key("s", domain, f" {text}\n")
