"""Agents: their kinds, samples, and the hosts that run them."""

__all__ = [
    "HUMANS",
    "Agent",
    "Briefing",
    "Isolation",
    "JoinPolicy",
    "LanguageModel",
    "Limits",
    "ModelOptions",
    "RemoteLearnerHost",
    "Seat",
    "host_agent",
    "open_series",
]

from flagfall.lazy_names import lazy_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flagfall.agents.agent import Agent
    from flagfall.agents.hosts.registry import host_agent
    from flagfall.agents.listening import open_series
    from flagfall.agents.process.isolation import Isolation
    from flagfall.agents.process.limits import Limits
    from flagfall.agents.registry import HUMANS
    from flagfall.agents.samples.language_model import LanguageModel
    from flagfall.agents.samples.llm.settings import ModelOptions
    from flagfall.agents.wire.admission import JoinPolicy
    from flagfall.agents.zmq.host import RemoteLearnerHost
    from flagfall.kernel.agent_seat import Seat
    from flagfall.kernel.hosting import Briefing

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "flagfall.agents.agent": "Agent",
        "flagfall.agents.hosts.registry": "host_agent",
        "flagfall.agents.listening": "open_series",
        "flagfall.agents.process.isolation": "Isolation",
        "flagfall.agents.process.limits": "Limits",
        "flagfall.agents.registry": "HUMANS",
        "flagfall.agents.samples.language_model": "LanguageModel",
        "flagfall.agents.samples.llm.settings": "ModelOptions",
        "flagfall.agents.wire.admission": "JoinPolicy",
        "flagfall.agents.zmq.host": "RemoteLearnerHost",
        "flagfall.kernel.agent_seat": "Seat",
        "flagfall.kernel.hosting": "Briefing",
    },
)
del TYPE_CHECKING, lazy_names
