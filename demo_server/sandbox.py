"""Files in one folder. Whatever name is asked for, nothing outside the folder is reached."""

from pathlib import Path

MAX_BYTES = 1_000_000


class Sandbox:
    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder.resolve()

    def path(self, name: str) -> Path:
        """Links are followed before it is decided whether the place is inside."""
        if not name.strip() or "\0" in name:
            raise ValueError("A file needs a name.")
        path = (self.folder / name).resolve()
        if path == self.folder or self.folder not in path.parents:
            raise ValueError(f"{name} is outside the folder of this server.")
        return path

    def names(self) -> list[str]:
        files = (path for path in self.folder.rglob("*") if path.is_file() and not path.is_symlink())
        return sorted(str(path.relative_to(self.folder)) for path in files)

    def read(self, name: str) -> str:
        path = self.path(name)
        if not path.is_file():
            raise ValueError(f"There is no file {name}.")
        if path.stat().st_size > MAX_BYTES:
            raise ValueError(f"{name} is larger than {MAX_BYTES} bytes.")
        return path.read_text(encoding="utf-8", errors="replace")

    def write(self, name: str, text: str) -> int:
        data = text.encode("utf-8")
        if len(data) > MAX_BYTES:
            raise ValueError(f"A file may have {MAX_BYTES} bytes at most.")
        path = self.path(name)
        if path.is_dir():
            raise ValueError(f"{name} is a folder.")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return len(data)

    def delete(self, name: str) -> None:
        path = self.path(name)
        if not path.is_file():
            raise ValueError(f"There is no file {name}.")
        path.unlink()
