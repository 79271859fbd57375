"""Runs below a log directory, found, followed and named as TensorBoard does."""

import errno
from pathlib import Path

import pytest

from tb_health_plugin.events import codec, facts, tags
from tb_health_plugin.events.attempt import FileName
from tb_health_plugin.events.event_file import EventFile
from tb_health_plugin.reading.library import Library
from tb_health_plugin.reading.log_directory import Root, find_runs, parse_roots
from tb_health_plugin.reading.run_history import Attempt
from tests.conftest import worker_settings

START = facts.RunStarted(wall_time=1.0, host="h", pid=1)


def names(root: Path) -> list[str]:
    return sorted(run.name for run in find_runs(Root(root)))


def touch(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()


class TestFindingRuns:
    def test_runs_of_tensorboard_and_ours_are_found(self, logs: Path, write_attempt):
        write_attempt("ours")
        touch(logs / "theirs/events.out.tfevents.1")
        touch(logs / "neither/notes.txt")

        assert names(logs) == ["ours", "theirs"]

    def test_the_log_directory_itself_may_be_a_run(self, logs: Path):
        touch(logs / "events.out.tfevents.1")

        assert names(logs) == ["."]

    def test_data_of_plugins_is_no_run(self, logs: Path):
        touch(logs / "run/plugins/profile/x.tfevents")

        assert names(logs) == []

    def test_links_in_a_circle_end(self, logs: Path):
        touch(logs / "run/events.out.tfevents.1")
        (logs / "run/again").symlink_to(logs)

        assert names(logs) == ["run"]

    def test_a_missing_directory_has_no_runs(self, tmp_path: Path):
        assert names(tmp_path / "later") == []


class TestParsingFlags:
    @pytest.mark.parametrize(
        ("spec", "roots"),
        [
            ("a:/x,b:/y", [Root(Path("/x"), "a"), Root(Path("/y"), "b")]),
            ("/x", [Root(Path("/x"))]),
            ("/x:y/z", [Root(Path("/x:y/z"))]),
            ("a:/x:y", [Root(Path("/x:y"), "a")]),
        ],
    )
    def test_a_spec_is_split_as_tensorboard_splits_it(self, spec, roots):
        assert list(parse_roots("", spec)) == roots

    def test_a_home_directory_is_expanded(self):
        assert parse_roots("~/logs", "") == (Root(Path.home() / "logs"),)

    def test_no_flag_is_no_root(self):
        assert parse_roots("", "") == ()


class TestLibrary:
    def refreshed(self, logs: Path) -> Library:
        library = Library([Root(logs)])
        library.refresh()
        return library

    def test_keras_writes_below_the_run_it_belongs_to(self, logs: Path, write_attempt):
        write_attempt("run", told=[START])
        touch(logs / "run/train/events.out.tfevents.1")
        touch(logs / "other/train/events.out.tfevents.1")

        library = self.refreshed(logs)

        shown = {run.name: run.tensorboard_runs for run in library.runs()}
        assert shown == {"run": ("run/train",), "other/train": ("other/train",)}

    def test_only_what_is_new_changes_the_version(self, logs: Path, write_attempt):
        directory = write_attempt("run", told=[START])
        library = self.refreshed(logs)
        version, run_version = library.version, library.run("run").version

        library.refresh()
        assert (library.version, library.run("run").version) == (version, run_version)

        more = EventFile(directory / str(FileName("records", 1)), now=2.0)
        more.append_fact(facts.TrainingStarted(wall_time=2.0, training=0))
        more.close()
        library.refresh()
        assert library.version > version
        assert library.run("run").version > run_version

    def test_attempts_of_one_run_are_one_story(self, logs: Path, write_attempt):
        write_attempt("run", id="b", told=[facts.RunStarted(wall_time=5.0, pid=2)])
        write_attempt("run", id="a", told=[facts.RunStarted(wall_time=9.0, pid=3)])

        history = self.refreshed(logs).run("run").history

        assert [attempt.start.pid for attempt in history.attempts] == [2, 3]

    def test_a_run_that_is_removed_goes_away(self, logs: Path, write_attempt):
        import shutil

        write_attempt("run")
        library = self.refreshed(logs)
        shutil.rmtree(logs / "run")

        library.refresh()

        assert library.runs() == []

    def test_names_of_logdir_spec_come_first(self, logs: Path, write_attempt):
        write_attempt("run")
        library = Library([Root(logs, "mine"), Root(logs / "run", "deep")])

        library.refresh()

        assert [run.name for run in library.runs()] == ["deep", "mine/run"]

    def test_what_a_summary_writer_logged_joins_its_run(
        self, logs: Path, write_attempt
    ):
        write_attempt("run", told=[START])
        library = self.refreshed(logs)
        logged = Attempt("summaries")
        logged.add(facts.Incident(wall_time=3.0, kind="x"))

        library.merge_summaries(["run/train", "b/."], {"run/train": logged})

        assert [run.name for run in library.runs()] == ["b", "run"]
        history = library.run("run").history
        assert history.latest.start == START
        assert history.summaries == [logged]

    def test_a_run_known_by_summaries_alone_has_an_attempt(self, logs: Path):
        library = self.refreshed(logs)
        logged = Attempt("summaries")
        logged.add(facts.Incident(wall_time=3.0, kind="x"))

        library.merge_summaries(["torch"], {"torch": logged})

        assert library.run("torch").history.latest is logged

    def test_a_damaged_file_is_told_and_the_rest_is_read(
        self, logs: Path, write_attempt
    ):
        told = [START, facts.Incident(wall_time=2.0), facts.Incident(wall_time=3.0)]
        directory = write_attempt("run", told=told)
        path = directory / str(FileName("records", 0))
        data = bytearray(path.read_bytes())
        data[data.index(b"run_started")] ^= 0xFF
        path.write_bytes(data)

        run = self.refreshed(logs).run("run")

        assert [p.message for p in run.problems] == ["1 damaged record was skipped"]
        assert len(run.history.latest.all(facts.Incident)) == 2

    def test_a_newer_file_is_told_and_the_rest_is_read(
        self, logs: Path, write_attempt, monkeypatch
    ):
        monkeypatch.setattr(tags, "FORMAT_VERSION", tags.FORMAT_VERSION + 1)
        directory = write_attempt("run", told=[START])
        monkeypatch.undo()
        old = EventFile(directory / str(FileName("records", 1)), now=2.0)
        old.append_fact(START)
        old.close()

        run = self.refreshed(logs).run("run")

        assert "newer version" in run.problems[0].message
        assert run.history.latest.start == START

    def test_files_that_are_not_ours_are_never_read(self, logs: Path, write_attempt):
        directory = write_attempt("run", told=[START])
        (directory / "notes.txt").write_text("hello")
        (directory / "events.out.tfevents.9").write_bytes(b"\xff" * 100)

        assert self.refreshed(logs).run("run").problems == ()

    def test_records_with_unknown_tags_are_passed_over(self, logs: Path, write_attempt):
        directory = write_attempt("run", told=[START])
        file = EventFile(directory / str(FileName("records", 1)), now=2.0)
        summary = codec.fact_summary(START)
        summary.value[0].tag = "health/of_tomorrow"
        file.append(summary, wall_time=2.0)
        file.close()

        run = self.refreshed(logs).run("run")

        assert run.problems == ()
        assert len(run.history.latest.all(facts.RunStarted)) == 1

    def test_a_file_without_permission_is_told(
        self, logs: Path, write_attempt, monkeypatch
    ):
        write_attempt("run", told=[START])

        def denied(self: Path, mode: str) -> None:
            raise PermissionError(errno.EACCES, "Permission denied", str(self))

        # Root may read every file, so the refusal itself is made here.
        monkeypatch.setattr(Path, "open", denied)
        run = self.refreshed(logs).run("run")

        assert "Permission denied" in run.problems[0].message


class TestWorkersThatWriteToDifferentPlaces:
    @pytest.fixture
    def library(self, logs: Path, write_attempt) -> Library:
        for rank in (0, 1):
            settings = worker_settings(rank)
            start = facts.RunStarted(wall_time=1.0 + rank, settings=settings)
            write_attempt(f"exp/w{rank}", id=f"a{rank}", told=[start])
            touch(logs / f"exp/w{rank}/train/events.out.tfevents.1")
        write_attempt("other", told=[START])
        library = Library([Root(logs)])
        library.refresh()
        return library

    def test_they_are_one_run(self, library: Library):
        assert [run.name for run in library.runs()] == ["exp/w0", "other"]
        run = library.run("exp/w0")
        assert [a.id for a in run.history.starts[-1].attempts] == ["a0", "a1"]
        assert run.tensorboard_runs == ("exp/w0/train", "exp/w1/train")

    def test_each_is_found_by_its_own_name(self, library: Library):
        assert library.run("exp/w1") is library.run("exp/w0")


class TestRuleFiles:
    def test_the_inner_file_counts_more(self, logs: Path, write_attempt):
        write_attempt("a/run", told=[START])
        (logs / "health_rules.json").write_text(
            '{"overfitting": "off", "nan_op": "off"}'
        )
        (logs / "a/health_rules.json").write_text('{"nan_op": "on"}')
        library = Library([Root(logs)])
        library.refresh()

        (run,) = library.runs()
        assert run.history.rules == {"overfitting": "off", "nan_op": "on"}
        assert run.problems == ()

    def test_nonsense_is_told_among_the_problems(self, logs: Path, write_attempt):
        write_attempt("run", told=[START])
        (logs / "health_rules.json").write_text('{"no_rule": "off"}')
        library = Library([Root(logs)])
        library.refresh()

        (run,) = library.runs()
        assert run.history.rules == {}
        (problem,) = run.problems
        assert problem.message.startswith("is not used: no rule is called 'no_rule'")

    def test_a_file_that_comes_later_makes_a_run_new(self, logs: Path, write_attempt):
        write_attempt("run", told=[START])
        library = Library([Root(logs)])
        library.refresh()
        before = library.runs()[0].version

        (logs / "run/health_rules.json").write_text('{"nan_op": "off"}')
        library.refresh()

        assert library.runs()[0].version > before
