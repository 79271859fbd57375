"""What is watched while Keras runs `fit`, one file per part."""
