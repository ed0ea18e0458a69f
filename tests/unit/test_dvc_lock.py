"""What DVC, which runs the pipeline, does with a lock that it cannot read."""

import os
import subprocess
import sys


def test_a_lock_with_merge_marks_is_refused_and_stays(tmp_path):
    """It may hold what two people ran: nothing of ours may put another in its place either."""
    env = {**os.environ, "DVC_SITE_CACHE_DIR": str(tmp_path / "site"), "DVC_NO_ANALYTICS": "1"}

    def dvc(*words):
        command = [sys.executable, "-m", "dvc", *words]
        return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)

    assert dvc("init", "--no-scm", "-q").returncode == 0
    (tmp_path / "dvc.yaml").write_text("stages:\n  a:\n    cmd: echo 1 > a.txt\n    outs: [a.txt]\n")
    assert dvc("repro", "-q").returncode == 0
    lock = (tmp_path / "dvc.lock").read_text()
    (tmp_path / "dvc.lock").write_text(f"<<<<<<< HEAD\n{lock}=======\n{lock}>>>>>>> other\n")
    before = (tmp_path / "dvc.lock").read_bytes()
    done = dvc("repro")
    assert done.returncode != 0
    assert "'dvc.lock' is invalid (possible merge conflicts)" in " ".join(done.stderr.replace("./", "").split())
    assert (tmp_path / "dvc.lock").read_bytes() == before
