"""Settings of a language model: its address, and the options in the text of the agent."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, Final, Literal
from urllib.parse import urlsplit

import attrs

from flagfall.errors import UsageError, suggest
from flagfall.kernel.usage import Usage

URL: Final = "FLAGFALL_LLM_URL"
KEY: Final = "FLAGFALL_LLM_KEY"
MODEL: Final = "FLAGFALL_LLM_MODEL"

VARIABLES: Final = (URL, MODEL, KEY)
"""The environment variables of the agent."""

MAX_MEMORY: Final = 1_000
MAX_LISTEN: Final = 10_000
MAX_TOKENS: Final = 100_000
MAX_TEMPERATURE: Final = 2.0
"""Upper limit of OpenAI's API."""

_PRICE: Final = re.compile(r"\d{1,6}(\.\d{1,9})?/\d{1,6}(\.\d{1,9})?", re.ASCII)

_PRICED_TOKENS: Final = 1_000_000

MAX_SYSTEM_CHARS: Final = 8_000
"""Longest system prompt; it is sent with every request."""


@attrs.frozen
class Endpoint:
    """Address of a model.

    Attributes:
        url: up to and with the version, such as `http://127.0.0.1:8000/v1`.
        key: the bearer token, empty for none. Sent to this endpoint only.

    Raises:
        UsageError: there is no address, or the key has invalid characters.
    """

    url: str = attrs.field(repr=False)  # it may have a password in it
    model: str = ""
    key: str = attrs.field(default="", repr=False)

    def __attrs_post_init__(self) -> None:
        if not self.url.startswith(("http://", "https://")):
            raise UsageError(
                f"a language model needs an address: set {URL}, such as http://127.0.0.1:8000/v1"
            )
        if not (self.key.isascii() and self.key.isprintable()) or " " in self.key:
            raise UsageError(f"{KEY} has characters that no key has")

    @classmethod
    def from_env(cls, url: str | None, model: str | None, key: str | None) -> Endpoint:
        """Return the endpoint of the arguments, or for `None` of the environment variables."""
        env = os.environ
        return cls(
            (env.get(URL, "") if url is None else url).strip().rstrip("/"),
            (env.get(MODEL, "") if model is None else model).strip(),
            (env.get(KEY, "") if key is None else key).strip(),
        )


@attrs.frozen
class ModelOptions:
    """Options of the agent; in its text `llm?temperature=0.2&max_tokens=50`.

    Attributes:
        url: address of the endpoint, without a password; by default from the environment.
        model: name of the model; by default from the environment.
        temperature: 0 to 2; `default` leaves it to the endpoint.
        max_tokens: most tokens of an answer.
        system: beginning of the system prompt; by default it says what to do, and the form of answers.
        template: file with a template of the prompts (`flagfall.agents.samples.llm.prompt`).
        memory: most exchanges of question and answer that are sent along; at most
            `flagfall.agents.samples.llm.conversation.MAX_CHARS` characters.
        format: the form of answers that is requested from the endpoint: `schema` (structured output by a
            JSON Schema), `tools` (a call of a function), `json` (a JSON object), `text` (nothing is
            requested), or `auto`: `schema`, and `text` if the endpoint refuses that.
        on_failure: after a turn for which the endpoint gave no answer: `nil` plays on, with the NIL action;
            `end` ends the match for this agent; `auto` plays on, but ends it where the model has never
            answered: at a refusal, after `MAX_FAILED_TURNS`, and at the end of the match.
        listen: in byte tasks: most bytes that are heard before the model is asked, pause or not.
        price: US dollars for a million tokens of prompts and of answers, such as `0.15/0.60`; by default
            costs are known only where the endpoint reports them.
        tokenizer: file `tokenizer.json` of the model, by which tokens are counted that the endpoint does not
            report.
        answers: journal of a match whose answers are given again, in place of those of a model.
    """

    url: str | None = None
    model: str | None = None
    temperature: float | Literal["default"] = 0
    max_tokens: int = 200
    system: str = ""
    template: str | None = None
    memory: int = 8
    format: Literal["auto", "schema", "tools", "json", "text"] = "auto"
    on_failure: Literal["auto", "nil", "end"] = "auto"
    listen: int = 80
    price: str | None = None
    tokenizer: str | None = None
    answers: str | None = None

    @classmethod
    def parse(cls, options: Mapping[str, Any]) -> ModelOptions:
        """Return the options of a text.

        Raises:
            UsageError: an option is unknown or has an invalid value.
        """
        known = [field.name for field in attrs.fields(cls)]
        for name in options:
            if name == "key":
                raise UsageError(f"llm: a key is given by {KEY} only: texts of agents stand in records")
            if name not in known:
                raise UsageError(f"llm: unknown option {name!r}{suggest(name, known)}")
        made = cls(**options)
        for name, wanted in made._problems():
            raise UsageError(f"llm: {name}={getattr(made, name)!r}: write {wanted}")
        return made

    def priced(self, usage: Usage) -> Usage:
        """Return what was used with its cost by the price, if there is one."""
        if self.price is None:
            return usage
        of_prompts, of_answers = map(float, self.price.split("/"))
        cost = (usage.prompt_tokens or 0) * of_prompts + (usage.answer_tokens or 0) * of_answers
        return attrs.evolve(usage, cost=cost / _PRICED_TOKENS)

    def _problems(self) -> list[tuple[str, str]]:
        """Return the names of invalid options, and what they may be."""
        rules = {
            "url": (_is_plain_url(self.url), "an address such as http://127.0.0.1:8000/v1, no password"),
            "model": (isinstance(self.model, str | None), "the name of a model"),
            "temperature": (
                self.temperature == "default" or _is_number(self.temperature, 0, MAX_TEMPERATURE),
                f"a number from 0 to {MAX_TEMPERATURE:g}, or default",
            ),
            "max_tokens": (_is_whole(self.max_tokens, 1, MAX_TOKENS), f"a number from 1 to {MAX_TOKENS}"),
            "system": (
                type(self.system) is str and len(self.system) <= MAX_SYSTEM_CHARS,
                f"a text of at most {MAX_SYSTEM_CHARS} characters",
            ),
            "template": (_is_file_name(self.template), "the name of a file"),
            "memory": (_is_whole(self.memory, 0, MAX_MEMORY), f"a number from 0 to {MAX_MEMORY}"),
            "format": (
                self.format in {"auto", "schema", "tools", "json", "text"},
                "auto, schema, tools, json or text",
            ),
            "on_failure": (self.on_failure in {"auto", "nil", "end"}, "auto, nil or end"),
            "listen": (_is_whole(self.listen, 1, MAX_LISTEN), f"a number from 1 to {MAX_LISTEN}"),
            "price": (
                self.price is None or (type(self.price) is str and _PRICE.fullmatch(self.price) is not None),
                "US dollars for a million tokens of prompts and of answers, such as 0.15/0.60",
            ),
            "tokenizer": (_is_file_name(self.tokenizer), "the name of a file tokenizer.json"),
            "answers": (_is_file_name(self.answers), "the name of a journal"),
        }
        return [(name, wanted) for name, (fits, wanted) in rules.items() if not fits]


def _is_plain_url(url: object) -> bool:
    if not isinstance(url, str):
        return url is None
    try:
        return url.startswith(("http://", "https://")) and "@" not in urlsplit(url).netloc
    except ValueError:
        return False


def _is_file_name(name: object) -> bool:
    return name is None or (isinstance(name, str) and "\0" not in name)


def _is_whole(value: Any, least: int, most: int) -> bool:
    return type(value) is int and least <= value <= most


def _is_number(value: Any, least: float, most: float) -> bool:
    return type(value) in {int, float} and least <= value <= most
