"""The runner on projects of a few shell commands, beside `dvc repro` on the same."""

import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from dvc.repo import Repo

from cachezoo.repro.plan import Plan
from cachezoo.repro.progress import Seconds
from cachezoo.repro.run import Run
from cachezoo.stage import STARTED_BY

MAIN = "import sys; from cachezoo.repro.run import main; raise SystemExit(main(sys.argv[1:]))"
SRC = Path(__file__).resolve().parents[3] / "src"
# Interrupts itself when it comes to import a module, or to open a file, for the first time.
EARLY = """
import runpy, signal, sys
left = [MOMENT]
def hook(event, details):
    if left and (event, str(details[0]).rpartition("/")[2] if details else "") == left[0]:
        left.clear()
        signal.raise_signal(signal.SIGINT)
sys.addaudithook(hook)
runpy.run_path("scripts/repro.py", run_name="__main__")
"""
# Each waits for the other: they end only if they run at once.
MEET = "touch {0}.here; while [ ! -e {1}.here ]; do sleep 0.02; done; "


def stage(name, *deps, command=""):
    return {name: {"cmd": f"{command}cat {' '.join(deps)} > {name}", "deps": list(deps), "outs": [name]}}


def write(folder, *stages):
    (folder / "dvc.yaml").write_text(yaml.safe_dump({"stages": {k: v for one in stages for k, v in one.items()}}))


def make(folder):
    folder.mkdir()
    Repo.init(str(folder), no_scm=True)
    local = f"[core]\n    site_cache_dir = {folder}/.site\n    analytics = false\n"
    (folder / ".dvc/config.local").write_text(local)
    (folder / "raw").write_text("raw\n")
    return folder


@pytest.fixture
def project(tmp_path):
    return make(tmp_path / "project")


def begin(folder, *args):
    return subprocess.Popen(
        [sys.executable, "-c", MAIN, *args],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(SRC), "SHELL": "/bin/sh"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def run(folder, *args, status=0):
    process = begin(folder, *args)
    out, err = process.communicate(timeout=60)
    assert process.returncode == status, out + err
    return out, err


def locked(folder):
    return list(yaml.safe_load((folder / "dvc.lock").read_text())["stages"])


def sequential(folder, before=(), there=()):
    """The dvc.lock that DVC itself writes for this dvc.yaml, having run those of `before` first, some files there."""
    other = make(folder.parent / "sequential")
    for name in there:
        (other / name).touch()
    for dvc_yaml in (*before, (folder / "dvc.yaml").read_text()):
        (other / "dvc.yaml").write_text(dvc_yaml)
        command = [sys.executable, "-m", "dvc", "repro"]
        subprocess.run(command, cwd=other, check=True, timeout=60, capture_output=True)
    return (other / "dvc.lock").read_bytes()


def running(folder):
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if Path(os.readlink(entry / "cwd")) == folder:
                found.append(entry.name)
        except OSError:
            continue
    return found


def none_left(folder):
    deadline = time.monotonic() + 10
    while running(folder) and time.monotonic() < deadline:
        time.sleep(0.05)
    return running(folder) == []


def test_a_record_of_a_run_that_a_kill_has_cut_is_forgotten(project):
    write(project, stage("a", "raw"))
    run(project)
    for record in list((project / ".dvc/cache/runs").glob("*/*/*")):
        record.unlink()
    (project / "dvc.lock").unlink()
    (project / "a").unlink()
    run(project)
    assert (project / "a").read_text() == "raw\n"
    assert list((project / ".dvc/cache/runs").glob("*/*/*"))


def test_stages_that_need_each_other_in_time_run_at_once(project):
    slow = stage("a", "raw", command=MEET.format("a", "b") + "sleep 0.3; ")
    write(project, slow, stage("b", "raw", command=MEET.format("b", "a")), stage("c", "a", "b"))
    out, _ = run(project, "--times", "times")
    ends = [json.loads(line) for line in (project / "times").read_text().splitlines()]
    assert [entry["stage"] for entry in ends] == ["b", "a", "c"]
    assert all(entry["ran"] and entry["status"] == 0 and entry["start"] < entry["end"] for entry in ends)
    assert (project / "c").read_text() == "raw\nraw\n"
    assert out.splitlines() == [
        "repro: checking 3 of 3 stages; as far as is known yet, less than a minute to go",
        "repro: b ended; 1 of 3 stages are up to date, less than a minute to go",
        "repro: a ended; 2 of 3 stages are up to date, less than a minute to go",
        "3 of 3 stages are up to date; 3 of them ran",
    ]
    assert (project / "dvc.lock").read_bytes() == sequential(project, there=["a.here", "b.here"])


def estimates(project, seconds):
    """The times to go that a run says, of stages with these times."""
    folder = project / ".cache/repro"
    (project / ".cache").mkdir(mode=0o700, exist_ok=True)
    folder.mkdir(exist_ok=True)
    (folder / "seconds.json").write_text(json.dumps(seconds))
    out, _ = run(project)
    return [re.split("up to date, |known yet, ", line)[1] for line in out.splitlines() if line.startswith("repro: ")]


def test_the_time_to_go_is_of_stages_whose_own_sources_have_changed(project):
    (project / "code").write_text("1 2")
    lists = {"sources": {
        "cmd": "mkdir -p data/sources; for s in a b; do cp code.$s data/sources/$s.json; done",
        "deps": ["code"], "outs": ["data/sources"],
    }}  # fmt: skip
    (project / "code.a").write_text("1")
    (project / "code.b").write_text("1")
    reads = {
        name: {"cmd": f"cat {' '.join(deps)} > {name}", "deps": deps, "outs": [name]}
        for name, *deps in (("a", "data/sources/a.json"), ("b", "data/sources/b.json"), ("c", "b"))
    }
    write(project, lists, reads)
    run(project)
    seconds = {"sources": 1, "a": 6000, "b": 600, "c": 300}
    (project / "code").write_text("1 3")
    assert estimates(project, seconds) == ["less than a minute to go", "less than a minute to go"]
    (project / "code").write_text("1 4")
    (project / "code.b").write_text("4")
    said = ["less than a minute to go", "about 15 min to go", "about 5 min to go"]
    assert estimates(project, seconds)[:3] == said  # one line more where `a` is still being looked at when `c` ends
    (project / "a").unlink()
    assert estimates(project, seconds)[0] == "about 1 h 40 min to go"


@pytest.mark.parametrize(("started", "to_go"), [(False, "about 5 min to go"), (True, "about 1 h 40 min to go")])
def test_a_stage_that_is_being_looked_at_takes_no_time_before_its_command_is_started(tmp_path, capsys, started, to_go):
    (tmp_path / "seconds.json").write_text(json.dumps({"a": 6000, "c": 300}))
    waits = {"a": frozenset({"sources"}), "b": frozenset({"sources"}), "c": frozenset({"b"})}
    stages = {name: SimpleNamespace(deps=[]) for name in waits}
    going = Run(
        Plan(tuple(waits), 3, stages, waits, frozenset()),
        None,
        2,
        False,
        None,
        seconds=Seconds(tmp_path / "seconds.json"),
    )
    going.left, going.ran, going.ended = {"c": waits["c"]}, {"b"}, {"b"}
    going.running["a"] = SimpleNamespace(ran=started, start=time.time())
    going._progress("b")
    assert capsys.readouterr().out == f"repro: b ended; 1 of 3 stages are up to date, {to_go}\n"


def test_no_more_run_at_once_than_jobs(project):
    alone = "mkdir alone && sleep 0.1 && rmdir alone && "
    write(project, *(stage(name, "raw", command=alone) for name in "abc"))
    run(project, "--jobs", "1")
    assert locked(project) == ["a", "b", "c"]


def test_a_stage_that_is_new_stands_behind_the_old_ones(project):
    write(project, stage("b", "raw"), stage("d", "b"))
    old = (project / "dvc.yaml").read_text()
    run(project)
    write(project, stage("a", "raw", command="sleep 0.3; "), stage("b", "raw"), stage("c", "raw"), stage("d", "b"))
    run(project)
    assert locked(project) == ["b", "d", "a", "c"]
    assert (project / "dvc.lock").read_bytes() == sequential(project, before=[old])


def test_a_second_run_does_nothing_and_one_after_a_change_what_depends_on_it(project):
    write(project, stage("a", "raw"), stage("b", "a"), stage("c", "raw"))
    (project / "other").write_text("")
    run(project)
    before = (project / "dvc.lock").stat()
    assert run(project) == run(project, "-v") == ("3 of 3 stages are up to date\n", "")
    assert (project / "dvc.lock").stat().st_mtime_ns == before.st_mtime_ns
    write(project, stage("a", "raw", command="true; "), stage("b", "a"), stage("c", "raw"))
    out, _ = run(project, "-v")
    assert out.splitlines() == [
        "repro: checking 2 of 3 stages; as far as is known yet, less than a minute to go",
        "a | Running stage 'a':",
        "a | > true; cat raw > a",
        "repro: a ended; 2 of 3 stages are up to date, less than a minute to go",
        "b | Stage 'b' didn't change, skipping",
        "3 of 3 stages are up to date; 1 of them ran",
    ]
    assert (project / "dvc.lock").read_bytes() == sequential(project)


def test_targets_force_and_options_of_dvc(project):
    write(project, stage("a", "raw"), stage("b", "a"), stage("c", "raw"))
    run(project, "b")
    assert locked(project) == ["a", "b"]
    out, _ = run(project, "-f", "-v", "b")
    assert [line for line in out.splitlines() if "Running" in line] == [
        "a | Running stage 'a':",
        "b | Running stage 'b':",
    ]
    out, _ = run(project, "--dry")
    assert "Running stage 'c'" in out
    assert not (project / "c").exists()
    _, err = run(project, "nowhere", status=255)
    assert "nowhere" in err


@pytest.mark.parametrize("jobs", ["0", "-1", "two"])
def test_a_wrong_number_of_jobs_is_named(project, jobs):
    _, err = run(project, f"--jobs={jobs}", status=2)
    assert f"{jobs}: is no number of stages" in err


def test_a_failure_lets_the_other_stage_end_and_begins_none(project):
    fails = stage("a", "raw", command=MEET.format("a", "b") + "touch failed; exit 3; ")
    waits = stage("b", "raw", command=MEET.format("b", "a") + "while [ ! -e failed ]; do sleep 0.02; done; sleep 1; ")
    write(project, fails, waits, stage("c", "raw"), stage("d", "a"))
    out, err = run(project, status=255)
    assert "a | ERROR: failed to reproduce 'a': failed to run: " in err
    assert "exited with 3" in err
    assert "repro: a failed (status 255); waiting for b to end" in err
    assert locked(project) == ["b"]
    assert "Running stage 'c'" not in out
    assert none_left(project)


def test_lines_of_two_stages_do_not_mix(project):
    talk = "for i in 1 2 3 4 5; do printf '{0}'; sleep 0.02; printf '{0}\\n'; done; printf end; "
    write(
        project,
        *(
            stage(name, "raw", command=MEET.format(*two) + talk.format(name))
            for name, two in (("a", "ab"), ("b", "ba"))
        ),
    )
    out, _ = run(project)
    for name in "ab":
        assert out.splitlines().count(f"{name} | {name}{name}") == 5
        assert f"{name} | end" in out.splitlines()


def test_ctrl_c_ends_stages_and_leaves_no_process(project):
    # The shell's own command, as a shell that waits for a program goes on after Ctrl-C if the program ended well.
    write(project, stage("a", "raw"), *(stage(name, "a", command=f": > {name}.on; exec sleep 60; ") for name in "bc"))
    process = begin(project)
    while not ((project / "b.on").exists() and (project / "c.on").exists()):
        assert process.poll() is None
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err == "repro: interrupted; run the same again to go on\n"
    assert locked(project) == ["a"]
    assert none_left(project)


def test_what_interrupted_programs_say_of_themselves_is_left_out(project):
    code = "import pathlib, time; pathlib.Path('a.on').touch(); time.sleep(60)"
    write(project, {"a": {"cmd": f'{sys.executable} -c "{code}"', "deps": ["raw"], "outs": ["a"]}})
    process = begin(project)
    while not (project / "a.on").exists():
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (130, "repro: interrupted; run the same again to go on\n")
    assert "ended" not in out
    assert none_left(project)


def test_ctrl_c_before_there_is_a_plan_is_one_line(project):
    shutil.copytree(SRC.parent / "scripts", project / "scripts")
    write(project, stage("a", "raw"))
    imports = [("import", name) for name in ("cachezoo.errors", "dvc.cli", "cachezoo.repro.plan")]
    for moment in (*imports, ("open", "dvc.yaml")):
        process = subprocess.Popen(
            [sys.executable, "-c", EARLY.replace("MOMENT", repr(moment))],
            cwd=project,
            env={**os.environ, "PYTHONPATH": str(SRC)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        _, err = process.communicate(timeout=60)
        assert (process.returncode, err) == (130, "repro: interrupted; run the same again to go on\n")


def test_ctrl_c_twice_ends_what_does_not_heed_it(project):
    write(project, stage("a", "raw", command="trap '' INT; touch a.on; while :; do sleep 0.05; done; "))
    process = begin(project)
    while not (project / "a.on").exists():
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGINT)
    time.sleep(0.2)
    os.kill(process.pid, signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130
    for left in running(project):  # a shell does not tie its life to DVC's as stages do
        os.kill(int(left), signal.SIGKILL)


def test_a_killed_run_leaves_no_stage(project):
    (project / "late.py").write_text(
        "import pathlib, sys, time\nfrom cachezoo.stage import die_with_parent\n"
        "die_with_parent()\npathlib.Path(sys.argv[1]).touch()\ntime.sleep(60)\n"
    )
    late = {name: {"cmd": f"{sys.executable} late.py {name}.on", "deps": ["raw"], "outs": [name]} for name in "ab"}
    write(project, late)
    process = begin(project)
    while not ((project / "a.on").exists() and (project / "b.on").exists()):
        assert process.poll() is None
        time.sleep(0.02)
    process.kill()
    process.communicate(timeout=30)
    assert none_left(project)


@pytest.mark.parametrize("gone", [False, True])
def test_a_stage_that_comes_to_itself_after_its_run_was_killed_ends(gone):
    starter = subprocess.Popen(["sleep", "60"])
    try:
        if gone:
            starter.kill()
            starter.wait(timeout=30)
        code = "from cachezoo.stage import die_with_parent\ndie_with_parent()"
        env = {**os.environ, STARTED_BY: str(starter.pid)}
        done = subprocess.run([sys.executable, "-c", code], env=env, timeout=60, check=False)
        assert done.returncode == (-signal.SIGKILL if gone else 0)
    finally:
        starter.kill()
        starter.wait(timeout=30)


def test_a_killed_run_goes_on_to_the_same_lock(project):
    kill = "[ -e killed ] || { touch killed; kill -9 $(cat pid); exec sleep 1; }; "
    late = stage("a", "raw", command=f"while [ ! -e c ]; do sleep 0.02; done; {kill}")
    write(project, late, stage("b", "raw"), stage("c", "b"), stage("d", "a", "c"))
    process = begin(project)
    (project / "pid").write_text(str(process.pid))
    process.communicate(timeout=30)
    assert process.returncode == -signal.SIGKILL
    assert "a" not in locked(project)
    assert "b" in locked(project)
    assert none_left(project)
    run(project)
    assert (project / "dvc.lock").read_bytes() == sequential(project, there=["c", "killed"])


@pytest.mark.parametrize("share", [0, 0.3, 0.7, 0.95])
def test_a_lock_that_a_killed_dvc_cut_short_is_put_aside(project, share):
    write(project, stage("a", "raw"), stage("b", "a"))
    run(project)
    whole = (project / "dvc.lock").read_bytes()
    (project / "dvc.lock").write_bytes(whole[: int(share * len(whole))])
    run(project)
    assert (project / "dvc.lock").read_bytes() == whole


def test_a_lock_that_was_cut_short_is_put_aside_where_there_is_no_git(project, monkeypatch):
    write(project, stage("a", "raw"))
    run(project)
    whole = (project / "dvc.lock").read_bytes()
    (project / "dvc.lock").write_bytes(b"")
    (project / "bin").mkdir()
    for name in ("sh", "bash", "cat"):
        (project / "bin" / name).symlink_to(shutil.which(name))
    monkeypatch.setenv("PATH", str(project / "bin"))
    _, err = run(project)
    assert "cut short when a run was killed; it is removed" in err
    assert (project / "dvc.lock").read_bytes() == whole


@pytest.fixture
def ended():
    """A process that has ended, and whose parent has not asked for its status."""
    process = subprocess.Popen(["true"])
    while Path(f"/proc/{process.pid}/stat").read_text().split()[2] != "Z":
        time.sleep(0.01)
    yield process.pid
    process.wait()


@pytest.mark.parametrize("kind", ["cut short", "empty", "writing", "reading"])
def test_a_table_of_paths_in_use_that_a_kill_left_is_put_aside(project, kind, ended):
    write(project, stage("a", "raw"))
    by = {"pid": ended, "cmd": "dvc repro"}
    left = {"cut short": '{"read": {', "empty": ""}
    table = {
        "read": {str(project / "a"): [by]} if kind == "reading" else {},
        "write": {str(project / "a"): by} if kind == "writing" else {},
    }
    (project / ".dvc/tmp").mkdir(exist_ok=True)
    (project / ".dvc/tmp/rwlock").write_text(left.get(kind, json.dumps(table)))
    run(project)
    assert locked(project) == ["a"]


def test_a_path_that_another_process_uses_is_waited_for_by_nobody(project):
    write(project, stage("a", "raw"))
    table = {"write": {str(project / "a"): {"pid": os.getpid(), "cmd": "dvc repro a"}}, "read": {}}
    (project / ".dvc/tmp").mkdir(exist_ok=True)
    (project / ".dvc/tmp/rwlock").write_text(json.dumps(table))
    _, err = run(project, status=255)
    assert f"(PID {os.getpid()}): dvc repro a" in err


def test_what_dvc_cannot_read_is_said_as_dvc_says_it(project):
    (project / "dvc.yaml").write_text("stages:\n  a:\n    command: true\n")
    _, err = run(project, status=255)
    assert "'./dvc.yaml' validation failed" in err
    assert "Traceback" not in err


def test_a_lock_that_another_program_writes_is_not_overwritten(project):
    write(project, stage("a", "raw"), stage("b", "a", command="echo '# mine' >> dvc.lock; "))
    _, err = run(project, status=1)
    assert "dvc.lock: another program has written it" in err
    assert (project / "dvc.lock").read_text().endswith("# mine\n")


@pytest.mark.parametrize("mode, taken", [(0o755, False), (0o777, False), (0o700, True), (None, True)])
def test_dvcs_caches_lie_in_a_folder_for_one_user(project, mode, taken):
    write(project, stage("a", "raw"))
    cache = project / ".cache"
    if mode is not None:
        cache.mkdir()
        cache.chmod(mode)
    _, err = run(project, status=0 if taken else 1)
    assert (project / "a").exists() == taken
    if taken:
        assert stat.S_IMODE(cache.stat().st_mode) == 0o700
    else:
        assert err.count("\n") == 1
        assert f"lets others in (mode {mode:04o})" in err and "make install" in err


def composed(project):
    """A project whose params.yaml is written by a stage, as compose does."""
    (project / "conf").write_text("x: 1\n")
    compose = {"cmd": "cat conf > params.yaml", "deps": ["conf"]}
    compose["outs"] = [{"params.yaml": {"cache": False, "persist": True}}]
    write(project, {"compose": compose}, {"a": {"cmd": "cat raw > a", "deps": ["raw"], "params": ["x"], "outs": ["a"]}})
    (project / "params.yaml").write_text("x: 1\n")
    run(project)
    return (project / "dvc.lock").read_bytes()


@pytest.mark.parametrize("damage", [b"x: 1\n\xff\xfe", b"x: [1\n", b"- 1\n", b"", b"\0\0\0\0"])
def test_params_that_cannot_be_read_are_composed_anew(project, damage):
    lock = composed(project)
    (project / "params.yaml").write_bytes(damage)
    out, err = run(project)
    assert (project / "params.yaml").read_text() == "x: 1\n"
    assert (project / "dvc.lock").read_bytes() == lock
    assert "1 of them ran" in out
    assert "Traceback" not in err
    assert err == "" if not damage else "params.yaml: was damaged and is removed" in err


def test_params_that_a_user_has_edited_are_left_to_the_stage(project):
    composed(project)
    (project / "params.yaml").write_text("x: 2\n")
    _, err = run(project)
    assert (project / "params.yaml").read_text() == "x: 1\n"
    assert err == ""


def test_damaged_params_are_composed_anew_where_dvc_itself_runs_the_stages(project):
    lock = composed(project)
    (project / "params.yaml").write_bytes(b"\xff")
    run(project, "--no-commit")
    assert (project / "params.yaml").read_text() == "x: 1\n"
    assert (project / "dvc.lock").read_bytes() == lock
