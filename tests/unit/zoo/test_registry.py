import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel

from cachezoo.bundles.export import read_lock
from cachezoo.closure import Project
from cachezoo.errors import ConfigError
from cachezoo.serving.kind import Kind
from cachezoo.zoo import registry
from cachezoo.zoo.base import Lazy, ReportSection, Results, System, studied_of
from cachezoo.zoo.registry import SYSTEMS, UNTRAINED, build, bundling_of

ROOT = Path(__file__).parents[3]
FOLDERS = sorted(path.parent.name for path in Path(registry.__file__).parent.glob("*/record.py"))


def parts(system: System) -> Iterator[tuple[str, Lazy]]:
    for record in (system, bundling_of(system.id)):
        for field in dataclasses.fields(record):
            if isinstance(part := getattr(record, field.name), Lazy):
                yield field.name, part


@pytest.fixture(params=sorted(SYSTEMS))
def system(request: pytest.FixtureRequest) -> System:
    return SYSTEMS[request.param]


def test_every_folder_is_registered_under_its_own_name() -> None:
    assert sorted([*SYSTEMS, *UNTRAINED]) == FOLDERS
    assert all(key == system.id for key, system in SYSTEMS.items())


def test_every_part_loads_from_the_system_s_own_folder_its_family_s_or_its_question_s(system: System) -> None:
    found = dict(parts(system))
    assert {"settings", "kind"} <= set(found)
    assert ("onnx" in found) == ("reference" in found), "what a library trained can be ONNX too"
    assert (system.page_cache is None) == (system.page_bundle is None)
    for name, part in found.items():
        shared = "cachezoo.questions." if name in ("report", "results") else "cachezoo.models."
        assert part.name.startswith((f"cachezoo.zoo.{system.id}.", shared)), name
        loaded = part.load()
        assert name in ("settings", "kind", "report", "results") or callable(loaded), name
    assert isinstance(bundling_of(system.id).kind.load(), Kind)
    assert system.study is None or studied_of(system).system == system.id
    assert system.results is None or isinstance(system.results.load(), Results)
    assert system.report is None or isinstance(system.report.load(), ReportSection)


def test_a_system_without_a_study_is_refused(system: System) -> None:
    with pytest.raises(ConfigError, match=f"system {system.id}: its record has no `study`"):
        studied_of(dataclasses.replace(system, study=None))


def test_settings_are_a_section_of_the_model_the_fit_and_the_judge(system: System) -> None:
    sections = system.settings.load()
    for name in ("Model", "Fit", "Judge"):
        section = getattr(sections, name)
        assert issubclass(section, BaseModel) and section.__module__ == sections.__name__
        assert section.model_config["frozen"] and section.model_config["extra"] == "forbid"
    assert "arch" in sections.Model.model_fields


def test_libraries_are_pinned_and_kinds_name_their_branches(system: System) -> None:
    bundling = bundling_of(system.id)
    assert set(bundling.libraries) <= set(read_lock(ROOT / "requirements.lock"))
    assert "numpy" in bundling.libraries
    assert bundling.weights and all(Path(name).name == name for name in bundling.weights)
    assert system.headline and all(bundling.kind.load().wanted)


def test_a_system_without_bundles_says_so() -> None:
    with pytest.raises(ConfigError, match="system nothing: has no bundles; caching, reuse, admission, streams"):
        bundling_of("nothing")


def test_a_kind_is_fitted_and_judged_by_a_stage_each(system: System) -> None:
    assert {f"fit_{system.id}", f"judge_{system.id}"} <= {path.name for path in Project(ROOT).stages()}


def test_a_duplicate_id_is_refused() -> None:
    first, second = list(SYSTEMS.values())[:2]
    assert list(build([first, second])) == [first.id, second.id]
    with pytest.raises(ConfigError, match=rf"system {first.id}: registered twice"):
        build([first, dataclasses.replace(second, id=first.id)])


def test_a_part_that_is_not_there_fails_when_it_is_asked_for() -> None:
    with pytest.raises(ModuleNotFoundError):
        Lazy("cachezoo.zoo.nowhere").load()
    with pytest.raises(AttributeError):
        Lazy("cachezoo.zoo.registry:nothing").load()
