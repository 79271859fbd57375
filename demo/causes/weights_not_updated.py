"""All layers were frozen, and nobody let them go again.

python demo/causes/weights_not_updated.py logs/weights_not_updated
"""

import sys

from _classes import classifier, fit


def main(logdir: str) -> None:
    model = classifier()
    for layer in model.layers:
        layer.trainable = False
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    fit(model, logdir)


if __name__ == "__main__":
    main(*sys.argv[1:])
