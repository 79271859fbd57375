"""Rates and shares that follow from counters."""

import math

from tb_health_plugin.events import facts
from tb_health_plugin.events.columns import NOT_MEASURED
from tb_health_plugin.reading.derived import inspections, loss_profiles, rates
from tb_health_plugin.reading.run_history import Attempt
from tb_health_plugin.reading.table import measured


def attempt(**columns: list[float]) -> Attempt:
    made = Attempt("a")
    made.samples.append(columns)
    return made


def known(table, column: str) -> list[float]:
    values = table.column(column)
    return values[measured(values)].tolist()


def test_a_counter_becomes_its_growth_per_second():
    table = rates(attempt(wall_time=[10, 11, 13], tree_cpu_seconds=[1, 2, 6]))

    assert known(table, "cpu_cores") == [1.0, 2.0]


def test_moments_without_a_measurement_are_bridged():
    table = rates(
        attempt(wall_time=[0, 1, 2, 3], tree_read_bytes=[0, NOT_MEASURED, 20, 30])
    )

    assert known(table, "read_bytes_per_second") == [10.0, 10.0]


def test_a_clock_or_counter_that_goes_back_gives_no_rate():
    table = rates(attempt(wall_time=[5, 4, 6, 7], step=[0, 10, 5, 6]))

    assert known(table, "steps_per_second") == [1.0]


def test_no_pace_is_told_when_nothing_trains():
    made = attempt(wall_time=[0, 1, 2, 3, 4, 5, 6], step=[0, 9, 9, 9, 9, 12, 12])
    made.add(facts.TrainingStarted(wall_time=0.5))
    made.add(facts.TrainingEnded(wall_time=2.5))
    made.add(facts.TrainingStarted(wall_time=3.5))

    # A zero while it trains is one, and so is the last one: nobody saw it end.
    assert known(rates(made), "steps_per_second") == [9, 0, 0, 3, 0]


def test_nobody_waits_more_than_all_the_time():
    table = rates(attempt(wall_time=[0, 1, 2], data_waited_seconds=[0, 0.25, 3.0]))

    assert known(table, "data_wait_fraction") == [0.25, 1.0]


def test_a_wait_belongs_to_all_the_time_that_it_took():
    table = rates(
        attempt(
            wall_time=[0, 1, 2, 3, 4, 5],
            step=[0, 10, 10, 10, 11, 21],
            data_waited_seconds=[0, 0.5, 0.5, 0.5, 3.5, 3.5],
        )
    )

    assert known(table, "data_wait_fraction") == [0.5, 1, 1, 1, 0]


def test_while_a_step_hangs_nobody_knows_whether_it_waits():
    table = rates(
        attempt(
            wall_time=[0, 1, 2, 3],
            step=[0, 10, 10, 10],
            data_waited_seconds=[0, 0.5, 0.5, 0.5],
        )
    )

    assert known(table, "data_wait_fraction") == [0.5]
    assert known(table, "steps_per_second") == [10, 0, 0]


def test_a_wait_after_a_restarted_counter_is_no_share():
    table = rates(
        attempt(
            wall_time=[0, 1, 2, 3],
            step=[0, 5, 6, 7],
            data_waited_seconds=[0, 0.5, 0.1, 0.3],
        )
    )

    shares = table.column("data_wait_fraction")
    assert shares[1] == 0.5
    assert not measured(shares)[2]
    assert abs(shares[3] - 0.2) < 1e-9


def test_what_was_not_measured_has_no_column():
    table = rates(attempt(wall_time=[0, 1], step=[0, 1]))

    assert not table.has("cpu_cores")
    assert len(rates(Attempt("empty"))) == 0


def test_looks_at_single_steps_are_rows_in_their_order():
    made = Attempt("a")
    made.add(facts.Inspected(wall_time=2.0, step=30, gradient_norm=math.inf))
    made.add(facts.Inspected(wall_time=1.0, step=10, gradient_norm=0.5))
    made.add(facts.Inspected(wall_time=3.0, step=40))

    table = inspections(made)

    assert known(table, "gradient_norm") == [0.5, math.inf]
    assert table.column("step").tolist() == [10.0, 30.0, 40.0]
    assert len(inspections(Attempt("empty"))) == 0


class TestLossProfiles:
    def loop(self, loss: float, profile: tuple[float, ...]) -> Attempt:
        made = Attempt("a")
        made.add(
            facts.EpochEnded(
                wall_time=100.0,
                started_at=0.0,
                training=0,
                first_step=0,
                last_step=100,
                metrics={"loss": loss},
                loss_profile=profile,
            )
        )
        made.add(facts.FirstBadNumber(wall_time=5.0, training=0, bad_step=4))
        return made

    def test_parts_are_spread_over_the_epoch(self):
        table = loss_profiles(self.loop(1.0, (3.0, 2.0)))

        assert table.column("step").tolist() == [25.0, 75.0]

    def test_parts_of_a_loop_that_was_lost_lie_before_that(self):
        table = loss_profiles(self.loop(math.inf, (3.0, 2.0)))

        assert table.column("step").tolist() == [1.0, 3.0, 4.0, 100.0]
        assert table.column("loss").tolist() == [3.0, 2.0, math.inf, math.inf]

    def test_a_profile_that_has_the_lost_parts_stays_as_it_is(self):
        table = loss_profiles(self.loop(math.nan, (3.0, math.nan)))

        assert table.column("step").tolist() == [25.0, 75.0]
