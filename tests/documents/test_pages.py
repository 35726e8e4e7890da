from pathlib import Path
import pytest
from tests.documents.pages import PAGES, Page


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_the_blocks_of_a_page_work(path: Path, tmp_path: Path) -> None:
    Page(path, tmp_path).run()
