"""usage: python -m tools.component_docs"""

from tools.common import run_main
from tools.component_docs.page import PAGE, SCHEMA, page, schema


def main(arguments: list[str]) -> int:
    PAGE.write_text(page(), "utf-8")
    SCHEMA.write_text(schema(), "utf-8")
    return 0


if __name__ == "__main__":
    run_main(main)
