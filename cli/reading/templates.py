"""What is not a manifest but makes one: Helm templates, Jinja, patches of kustomize."""

import re

# Go template actions and Jinja statements; a lone {{.Name}} in quotes may be KServe's own and is left to the documents.
_TEMPLATE = re.compile(
    r"\{\{-|-\}\}|\{\{\s*(?:if|else|end|range|with|include|template|define|block|toYaml|tpl|lookup|fail|\$|/\*)\b"
    r"|\{\{\s*\$|\{\{[^}]*\.(?:Values|Release|Chart|Capabilities|Files)\b|\{%-?\s*\w+"
)
# A variable alone on its line stands for whole lines that envsubst or a script puts there.
_EXPRESSION = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|^[ \t]*\$(?:\{\w+\}|\w+)[ \t]*$", re.DOTALL | re.MULTILINE)


def is_template(text: str) -> bool:
    """Whether a text surely is a template to be rendered first."""
    return ("{{" in text or "{%" in text) and _TEMPLATE.search(text) is not None


def has_expressions(text: str) -> bool:
    """Whether a text that cannot be read holds template expressions that explain why."""
    return _EXPRESSION.search(text) is not None
