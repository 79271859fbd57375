"""Lists and reads an object store through TensorBoard's file layer.

It is the layer that TensorBoard has without TensorFlow: `s3://` through boto3, and all
that fsspec knows, such as `gs://` through gcsfs. TensorFlow is never loaded.
"""

from typing import Any, Protocol

from tensorboard.compat.tensorflow_stub.io import gfile

# Bounds the memory of one look; a longer stretch is read in several.
CHUNK_BYTES = 8 << 20

# What to install for an address, where that is not told.
_PACKAGES = {"s3": "boto3", "gs": "gcsfs", "gcs": "gcsfs", "az": "adlfs"}


class CannotOpen(Exception):
    """Nothing here can read such an address; the message says what to install."""


class Store(Protocol):
    """One directory of an object store."""

    def sizes(self) -> dict[str, int | None]:
        """Bytes of every file below it; None where that takes a request for each."""

    def size(self, name: str) -> int:
        """Bytes of one file."""

    def read(self, name: str, after: Any, until: int) -> tuple[bytes, Any]:
        """The bytes that follow, and where they end.

        Args:
            name: The file.
            after: What the last call returned as the end; None for the beginning.
            until: Size of the file, as far as it is known.
        """


def open_store(address: str) -> Store:
    """The directory at that address. Nothing is asked of the store yet.

    Raises:
        CannotOpen: Nothing here knows such addresses.
    """
    try:
        layer = gfile.get_filesystem(address)
    except (ImportError, ValueError) as error:
        scheme = address.partition("://")[0]
        package = _PACKAGES.get(scheme, "fsspec")
        raise CannotOpen(
            f"cannot be read: {scheme}:// needs a package that is not installed. "
            f"Try: pip install {package}"
        ) from error
    if isinstance(layer, gfile.FSSpecFileSystem):
        return _FsSpec(address)
    return _Layer(address, layer)


class _Layer:
    """A file system of TensorBoard's own, as for S3."""

    def __init__(self, address: str, layer: Any) -> None:
        self._address = address.rstrip("/")
        self._layer = layer

    def sizes(self) -> dict[str, int | None]:
        if isinstance(self._layer, gfile.S3FileSystem):
            # One request for a thousand names, however deep they lie.
            found = self._layer.glob(f"{self._address}/*")
        else:
            found = [
                self._layer.join(folder, name)
                for folder, _, names in gfile.walk(self._address)
                for name in names
            ]
        begin = len(self._address) + 1
        return {name[begin:]: None for name in found if not name.endswith("/")}

    def size(self, name: str) -> int:
        return int(self._layer.stat(f"{self._address}/{name}").length)

    def read(self, name: str, after: Any, until: int) -> tuple[bytes, Any]:
        url = f"{self._address}/{name}"
        data, end = self._layer.read(url, True, CHUNK_BYTES, after)
        return data, end


class _FsSpec:
    """A file system of fsspec: the very one that TensorBoard's layer uses."""

    def __init__(self, address: str) -> None:
        # There, or the layer would not have chosen it.
        import fsspec  # noqa: PLC0415

        self._files, root = fsspec.core.url_to_fs(address)
        self._root = root.rstrip("/")

    def sizes(self) -> dict[str, int | None]:
        # Some of them keep listings for good.
        self._files.invalidate_cache()
        found = self._files.find(self._root, detail=True)
        begin = len(self._root) + 1
        return {name[begin:]: told.get("size") for name, told in found.items()}

    def size(self, name: str) -> int:
        return int(self._files.size(f"{self._root}/{name}"))

    def read(self, name: str, after: Any, until: int) -> tuple[bytes, Any]:
        begin = after or 0
        end = min(until, begin + CHUNK_BYTES)
        data = self._files.cat_file(f"{self._root}/{name}", start=begin, end=end)
        return data, begin + len(data)
