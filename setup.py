"""Package metadata. Tool settings are in pyproject.toml."""

import re
from pathlib import Path

from setuptools import find_packages, setup

HERE = Path(__file__).parent
(VERSION,) = re.findall(
    r'^__version__ = "(.+)"$',
    (HERE / "tb_health_plugin/__init__.py").read_text(encoding="utf-8"),
    re.MULTILINE,
)

# What make check, make test and make bench need, and nothing else does.
DEV = [
    "boto3>=1.28",
    "build>=1.2",
    "codespell>=2.3",
    "fsspec>=2023.1",
    "grpcio-tools>=1.60",
    "hypothesis>=6.100",
    "import-linter>=2.1",
    "ipykernel>=6.29",
    "ipython>=8.18",
    "jsonschema>=4.20",
    "moto[s3,server]>=5",
    "mypy>=1.15",
    "playwright>=1.49",
    "py-spy>=0.4",
    "pytest>=8.3",
    "pytest-timeout>=2.3",
    "pytest-xdist>=3.6",
    "ruff>=0.12",
    "tensorboardX>=2.6.2",
    "types-protobuf",
    "types-psutil",
]

setup(
    name="tensorboard-plugin-health",
    version=VERSION,
    description="Training Health for TensorBoard: where a training stopped, and why.",
    long_description=(HERE / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    packages=find_packages(include=["tb_health_plugin", "tb_health_plugin.*"]),
    package_data={
        "tb_health_plugin": [
            "py.typed",
            "events/health.proto",
            "events/health.binpb",
            "diagnosis/verdict.schema.json",
            "server/http_api.md",
            "server/static/*",
        ]
    },
    python_requires=">=3.10",
    install_requires=[
        "google-crc32c>=1.6",
        "numpy>=1.23",
        "protobuf>=3.20",
        "psutil>=5.9",
        "rich>=13",
        "tensorboard>=2.16.2",
        "werkzeug>=2.2",
    ],
    extras_require={
        # The hook runs inside a training, which has TensorFlow anyway.
        "tensorflow": ["tensorflow>=2.16"],
        "gpu": ["nvidia-ml-py>=12.535"],
        # Shows the native frames of a training that hangs.
        "stacks": ["py-spy>=0.4"],
        # Log directories on object stores, as TensorBoard reads them.
        "s3": ["boto3>=1.28"],
        "gs": ["gcsfs>=2023.1"],
        # `tb-health report --ray`.
        "ray": ["ray>=2.9"],
        # Lets `make torture` look for bytes that break a reader.
        "fuzz": ["atheris>=2.3"],
        "dev": DEV,
    },
    entry_points={
        "console_scripts": ["tb-health = tb_health_plugin.cli.main:main"],
        "tensorboard_plugins": ["health = tb_health_plugin.plugin:HealthLoader"],
    },
    classifiers=[
        "Development Status :: 3 - Alpha",
        "Intended Audience :: Developers",
        "Intended Audience :: Science/Research",
        "Operating System :: POSIX :: Linux",
        "Programming Language :: Python :: 3",
        "Programming Language :: Python :: 3.10",
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Programming Language :: Python :: 3.13",
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
        "Typing :: Typed",
    ],
)
