"""HTML pages: bundles of scripts, styles, blocks of data, and the policy that lets nothing else run."""

from .assets import STATIC, AssetError, bundle, module_graph, stylesheet
from .html import Block, content_security_policy, self_contained_page, served_page

__all__ = [
    "STATIC",
    "AssetError",
    "Block",
    "bundle",
    "content_security_policy",
    "module_graph",
    "self_contained_page",
    "served_page",
    "stylesheet",
]
