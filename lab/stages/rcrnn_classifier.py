"""Stage rcrnn_classifier of lab/dvc.yaml: RC-RNN's classifier as published on the test traces."""

from lab.rcrnn.published import classifier_metrics
from lab.rcrnn.trained import CLASSIFIER
from lab.stages.written import run

if __name__ == "__main__":
    run(classifier_metrics, CLASSIFIER)
