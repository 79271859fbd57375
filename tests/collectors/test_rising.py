"""Totals that never fall."""

from tb_health_plugin.collectors.rising import Rising


def test_what_rises_is_passed_on():
    total = Rising()

    assert [total(n) for n in (5, 5, 8)] == [5, 5, 8]


def test_a_dip_of_one_reading_is_waited_out():
    """A child's time is on its way into the parent's account."""
    total = Rising()

    assert [total(n) for n in (100, 30, 101)] == [100, 100, 101]


def test_after_a_loss_it_goes_on_rising():
    """Else 70 s of work that followed would look like standing still."""
    total = Rising()

    assert [total(n) for n in (100, 30, 31, 33, 35)] == [100, 100, 100, 102, 104]


def test_one_loss_after_the_other():
    total = Rising()

    assert [total(n) for n in (100, 50, 50, 20, 20, 21)] == [100] * 5 + [101]
