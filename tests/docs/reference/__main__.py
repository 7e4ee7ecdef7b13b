"""Write the generated pages of docs/reference, and remove those of what no longer exists."""

from __future__ import annotations

from tests.docs.reference import list_stored, write_all


def main() -> None:
    """Write every page."""
    pages = write_all()
    for path in list_stored() - pages.keys():
        path.unlink()
    for path, text in pages.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    print(f"{len(pages)} pages in docs/reference")


if __name__ == "__main__":
    main()
