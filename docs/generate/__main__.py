"""``python -m docs.generate``: writes all pages of the reference."""

from docs.generate.pages import pages


def main() -> None:
    for path, text in pages().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


main()
