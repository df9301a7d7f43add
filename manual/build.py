"""Building the manual: `python -m manual.build` lays the pages out in build/manual and has mkdocs make build/site."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
from pathlib import Path

from manual.markdown import ready
from manual.pages import HOME, ROOT, SECTIONS, assets, examples, sources, targets
from manual.reference import pages as reference_pages

PLACE = ROOT / "build" / "manual"
SITE = ROOT / "build" / "site"


def lay_out(place: Path, site: Path) -> Path:
    """Write all pages, and the configuration that makes a site of them; returns the latter."""
    folder = place / "pages"
    if folder.exists():
        shutil.rmtree(folder)
    leads = targets()
    for source, page in sources().items():
        _write(folder / page, ready((ROOT / source).read_text(), source, page, leads))
    for source, page in assets().items():
        (folder / page).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / source, folder / page)
    for source, page in examples().items():
        _write(folder / page, f"# {source}\n\n```python\n{(ROOT / source).read_text()}```\n")
    _write(folder / "examples/index.md", _list_of_examples())
    reference = reference_pages()
    for page, text in reference.items():
        _write(folder / page, text)
    config = place / "mkdocs.yml"
    config.write_text(json.dumps(configuration(folder, site, list(reference)), indent=2))  # which is YAML as well
    return config


def configuration(folder: Path, site: Path, reference: list[str]) -> dict[str, object]:
    """Return mkdocs' options: a theme that fetches nothing, and every doubt is an error."""
    sections = [{title: [{name: page} for name, page in entries]} for title, entries in SECTIONS]
    named = [{Path(page).stem: page} for page in reference]
    programs = [{"All": "examples/index.md"}, *({Path(page).stem: page} for page in examples().values())]
    return {
        "site_name": "Trident for PySpark",
        "docs_dir": str(folder),
        "site_dir": str(site),
        "use_directory_urls": False,
        "theme": {"name": "mkdocs", "highlightjs": False, "navigation_depth": 3},
        "plugins": ["search"],
        "markdown_extensions": ["tables", "fenced_code", "sane_lists", "toc"],
        "nav": [{"Home": HOME}, *sections, {"Reference": named}, {"Examples": programs}],
        "strict": True,
        "validation": {
            "omitted_files": "warn",
            "absolute_links": "warn",
            "unrecognized_links": "warn",
            "anchors": "warn",
            "not_found": "warn",
        },
    }


def build(place: Path = PLACE, site: Path = SITE) -> None:
    """Lay the pages out and make the site; raises `subprocess.CalledProcessError` for anything that mkdocs doubts."""
    place.mkdir(parents=True, exist_ok=True)
    config = lay_out(place, site)
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--clean", "--config-file", str(config)]
    subprocess.run(words, check=True, cwd=ROOT)


def _list_of_examples() -> str:
    lines = ["# Examples", ""]
    for source, page in examples().items():
        said = (ast.get_docstring(ast.parse((ROOT / source).read_text())) or "").splitlines()[0]
        lines.append(f"- [{Path(source).name}]({Path(page).name}): {said}")
    return "\n".join(lines) + "\n"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


if __name__ == "__main__":
    build()
    print(f"{SITE.relative_to(ROOT)}/index.html")
