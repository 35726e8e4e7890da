"""The CommAI tasks by id, in the order of the curriculum.

To use other constants than the defaults, build the task itself:

    MicroTask("micro3", partial(letter_mapping, alphabet_size=6), MicroRules(required=20))

or, for another vocabulary or a world around the mini-tasks, another catalog:

    make_catalog(words=load_vocabulary(Path("words.txt")), world=GridWorld())

The tasks follow the original, quirks included; `make_catalog(fixes=True)` repairs some of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Final

from flagfall.errors import UsageError, suggest
from flagfall.tasks.commai.byte_task import ByteTask
from flagfall.tasks.commai.conversation import ConversationTask, TaskSpec, WorldTaskSpec
from flagfall.tasks.commai.micro.characters import CHARACTER_TASKS, FEEDBACK_TASKS, SYNONYM_TASKS
from flagfall.tasks.commai.micro.sentences import SENTENCE_TASKS
from flagfall.tasks.commai.mini.task import FORMER_STRINGS, MINI_EXAMPLES, MiniTask
from flagfall.tasks.commai.original.navigation import NAVIGATION
from flagfall.tasks.commai.original.objects import OBJECT_TASKS
from flagfall.tasks.commai.original.repetition import (
    COUNTING,
    GUESSING,
    LETTERS,
    REPETITION,
    SAMPLES,
    SAMPLES_IN_THE_WORLD,
)
from flagfall.tasks.commai.words import Vocabulary
from flagfall.tasks.commai.world import GridWorld, World

# The original CommAI tasks by id, family by family.
#
# They are not part of the challenge. Their time limits are meant in bits, see
# `flagfall.tasks.commai.wrapped_task`.

_FAMILIES: Final[Mapping[str, Mapping[str, TaskSpec | WorldTaskSpec]]] = {
    "repetition": REPETITION,
    "counting": COUNTING,
    "objects": OBJECT_TASKS,
    "navigation": NAVIGATION,
    "micro": LETTERS,
    "guessing": GUESSING,
    "sample": {**SAMPLES, **SAMPLES_IN_THE_WORLD},
}

_SPECS: Final[Mapping[str, TaskSpec | WorldTaskSpec]] = {
    f"commai.{family}.{name}": spec for family, specs in _FAMILIES.items() for name, spec in specs.items()
}

COMMAI_CATALOG: Final[Mapping[str, Callable[[], ByteTask]]] = {
    task_id: partial(spec.task, task_id) for task_id, spec in _SPECS.items()
}
"""Makers of all tasks by id; each call makes a new task, in a new world if it needs one."""


def commai_tasks(ids: Iterable[str], world: GridWorld | None = None) -> list[ConversationTask]:
    """Make tasks that share one grid world.

    Raises:
        UsageError: an id is unknown; the message has the nearest ones.
    """
    shared = GridWorld() if world is None else world
    tasks = []
    for task_id in ids:
        spec = _SPECS.get(task_id)
        if spec is None:
            raise UsageError(f"unknown task {task_id!r}{suggest(task_id, _SPECS)}")
        tasks.append(spec.task(task_id, shared) if isinstance(spec, WorldTaskSpec) else spec.task(task_id))
    return tasks


# Modules, where they were moved with their former name, and the names of their tasks.
_NAMES: Final = """
tasks.competition.repetition
    BeSilentTask                                        repetition.be_silent
    RepeatCharacterTask                                 repetition.repeat_character
    RepeatWhatISayTask                                  repetition.repeat_what_i_say
    RepeatWhatISay2Task                                 repetition.repeat_what_i_say_2
    RepeatWhatISayMultipleTimesTask                     repetition.repeat_multiple_times
    RepeatWhatISayMultipleTimes2Task                    repetition.repeat_multiple_times_2
    RepeatWhatISayMultipleTimesSeparatedByCommaTask     repetition.repeat_separated_by_comma
    RepeatWhatISayMultipleTimesSeparatedByAndTask       repetition.repeat_separated_by_and
    RepeatWhatISayMultipleTimesSeparatedByCATask        repetition.repeat_separated_by_comma_and
    RepeatWhatISayDisjunction                           repetition.repeat_disjunction
    RepeatWhatISayConjunctionNegation                   repetition.repeat_conjunction_negation
    VerbTask                                            repetition.verb
tasks.competition.counting
    SimpleCountingTask                                  counting.simple_counting
tasks.competition.objects_properties
    ObjectExistenceTask1                                objects.existence_1
    ObjectExistenceTask2                                objects.existence_2
    AssociateObjectWithPropertyTask                     objects.associate_property
    VerifyThatObjectHasPropertyTask                     objects.verify_property
    ListPropertiesOfAnObjectTask                        objects.list_properties
    NameAPropertyOfAnObjectTask                         objects.name_property
    HowManyPropertiesDoesAnObjectHaveTask               objects.count_properties
    ListObjectsWithACertainPropertyTask                 objects.list_objects
    NameAnObjectWithAPropertyTask                       objects.name_object
    HowManyObjectsHaveACertainPropertyTask              objects.count_objects
    WhoHasACertainObjectWithACertainPropertyTask        objects.who_has
    ListThePropertiesThatAnObjectHasInABasketOnlyTask   objects.properties_in_one_basket_only
    ListThePropertiesThatAnObjectHasInAllBasketsTask    objects.properties_in_all_baskets
tasks.competition.navigation
    TurningTask                                         navigation.turning
    MovingTask                                          navigation.moving
    MovingRelativeTask                                  navigation.moving_relative
    MovingAbsoluteTask                                  navigation.moving_absolute
    PickUpTask                                          navigation.pick_up
    PickUpAroundTask                                    navigation.pick_up_around
    PickUpInFrontTask                                   navigation.pick_up_in_front
    GivingTask                                          navigation.giving
    PickUpAroundAndGiveTask                             navigation.pick_up_around_and_give
    CountingInventoryTask                               navigation.counting_inventory
    CountingInventoryGivingTask                         navigation.counting_inventory_giving
    LookTask                                            navigation.look
    LookAroundTask                                      navigation.look_around
    FindObjectAroundTask                                navigation.find_object_around
tasks.micro.micro
    Repeat1V1L                                          micro.repeat_1v1l
    Repeat3V1L                                          micro.repeat_3v1l
    Repeat3V2L                                          micro.repeat_3v2l
tasks.competition.to_be_validated
    GuessTheNumberAskingQuestionsExplicitModelTask      guessing.guess_number_explicit
    GuessTheNumberAskingQuestionsTask                   guessing.guess_number
    GuessTheNumberAskingForDigitsExplicitModelTask      guessing.guess_digits_explicit
    GuessTheNumberAskingForDigitsTask                   guessing.guess_digits
    ItalianHowManyPropertiesDoesAnObjectHaveTask        objects.italian_count_properties
    RepeatCharacter                                     guessing.repeat_character
    RepeatStringMax4                                    guessing.repeat_string_max_4
    RepeatStringMin5Max10                               guessing.repeat_string_min_5_max_10
    GlobalCharacterPrimeTarget                          guessing.global_character_prime_target
    GlobalStringPrimeTargetMax4                         guessing.global_string_max_4_prime_target
    GlobalStringPrimeTargetMin5Max10                    guessing.global_string_min_5_max_10_prime_target
    GlobalTwoAssociatedCharacters                       guessing.global_two_associated_character
    GlobalTwoAssociatedDelimitedStringsMax4             guessing.global_two_associated_string_max_4
    GlobalTwoAssociatedDelimitedStringsMin5Max10        guessing.global_two_associated_string_min_5_max_10
    LocalCharacterPrimeTarget                           guessing.local_character_prime_target
    LocalStringPrimeTargetMax4                          guessing.local_string_max_4_prime_target
    LocalStringPrimeTargetMin5Max10                     guessing.local_string_min_5_max_10_prime_target
    LocalTwoAssociatedCharacters                        guessing.local_two_associated_character
    LocalTwoAssociatedDelimitedStringsMax4              guessing.local_two_associated_string_max_4
    LocalTwoAssociatedDelimitedStringsMin5Max10         guessing.local_two_associated_string_min_5_max_10
tasks.sample.sample_tasks tasks.sample_tasks
    RepeatingCharTask                                   sample.repeating_character
    YesNoTask                                           sample.yes_no
    BeSilentTask                                        sample.be_silent
    RepeatingPhraseTask                                 sample.repeating_phrase
    SampleConflictingMessagesTask                       sample.conflicting_messages
    MovingTask                                          sample.moving
    TurnLeftTask                                        sample.turn_left
    TurnRightTask                                       sample.turn_right
    LookAroundTask                                      sample.look_around
    PickAnApple                                         sample.pick_an_apple
    UnicodeTask                                         sample.unicode
"""


def _read_names() -> dict[str, str]:
    names: dict[str, str] = {}
    modules: list[str] = []
    for row in _NAMES.strip().splitlines():
        if not row.startswith(" "):
            modules = row.split()
        else:
            name, task_id = row.split()
            names |= {f"{module}.{name}": f"commai.{task_id}" for module in modules}
    return names


ORIGINAL_NAMES: Final[Mapping[str, str]] = _read_names()
"""The tasks by the class paths that they have in configurations for the original."""


MICRO_TASKS: Final = {**CHARACTER_TASKS, **FEEDBACK_TASKS, **SENTENCE_TASKS, **SYNONYM_TASKS}
"""All micro-tasks by id: how they are made, and the settings that configurations may change."""


def make_catalog(
    words: Vocabulary | None = None, world: World | None = None, *, fixes: bool = False
) -> Mapping[str, Callable[[], ByteTask]]:
    """Return makers of all tasks by id; each call of a maker makes a new task.

    Args:
        words: the vocabulary of micro-tasks 6 to 20; `None` for the one shipped with flagfall, which is read
            when the first task needs it.
        world: the world of the mini-tasks, shared by all of them; it also hears the learner.
        fixes: repair the quirks of the original that `docs/round1.md` lists for this option.
    """
    return {
        **{task_id: partial(row.make, task_id, words, fixes=fixes) for task_id, row in MICRO_TASKS.items()},
        **{task_id: partial(_mini_task, task_id, world, fixes) for task_id in MINI_EXAMPLES},
    }


def _mini_task(task_id: str, world: World | None, fixes: bool) -> MiniTask:
    make = MINI_EXAMPLES[task_id]
    former = make(fixes, FORMER_STRINGS)
    return MiniTask(task_id, make(fixes), former_examples=former, world=world, fixes=fixes)


CATALOG: Final = make_catalog()
"""Makers of all tasks by id, with the default vocabulary and without a world."""
