"""`make retrain` before it does anything."""

from cachezoo.retrain import main


def test_without_its_variables_it_says_the_whole_command(capsys):
    assert main([]) == main(["a.csv"]) == 1
    line = 'retrain: say which traces, and of which category: make retrain TRACES="a.csv b.csv" CATEGORY=database\n'
    assert capsys.readouterr().err == 2 * line
