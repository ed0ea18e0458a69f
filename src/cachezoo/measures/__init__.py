"""Figures that verdicts and evaluations share: resampled intervals, accuracies."""
