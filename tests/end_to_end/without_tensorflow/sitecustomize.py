"""TensorBoard as where TensorFlow is not installed, in Pythons that find this first.

TensorBoard asks for a module of this name, and then reads files with code of its own.
It starts in a third of the time.
"""

import sys
from types import ModuleType

_NAME = "tensorboard.compat.notf"
sys.modules[_NAME] = ModuleType(_NAME)
