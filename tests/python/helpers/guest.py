"""A Linux guest of a few files, which makes, uses and checks file systems on a served drive.

It is a kernel of Debian's cloud images, unpacked, and an archive of busybox and of the programs
that are installed here. TINYTAIL_GUEST names the folder in which a kernel's package and that of
busybox-static were unpacked (`dpkg-deb --extract PACKAGE FOLDER`).
"""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

MODULES = ("virtio_pci", "virtio_blk", "xfs")

_START = """#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin:/sbin:/usr/bin:/usr/sbin
mount -t proc none /proc; mount -t sysfs none /sys; mount -t devtmpfs none /dev 2>/dev/null
while read module; do insmod /modules/$module || echo "NO MODULE $module"; done < /modules/order
check() {
    name=$1; shift
    if "$@" > /log 2>&1; then echo "GUEST $name ok"; else echo "GUEST $name FAILED"; cat /log; fi
}
"""

_END = """
echo "GUEST done"
poweroff -f
"""


@dataclass(frozen=True)
class Task:
    """What a guest does, and what it needs besides busybox: programs, and files at its root."""

    script: str
    programs: tuple[str, ...]
    files: dict[str, str] = field(default_factory=dict)


FILE_SYSTEMS = Task(
    """
try() {
    system=$1; shift
    check "$system made" "$@"
    check "$system mounted" mount -t $system /dev/vda /mnt
    check "$system fio" fio --name=verify --directory=/mnt --rw=randrw --bsrange=4k-64k \\
        --size=16M --ioengine=psync --verify=crc32c --fsync=64 --end_fsync=1 --randseed=1
    rm /mnt/verify*
    check "$system trimmed" fstrim /mnt
    (dd if=/dev/urandom bs=64k count=64 2>/dev/null | tee /mnt/noise | sha256sum) > /sum
    check "$system unmounted" umount /mnt
    check "$system mounted again" mount -t $system /dev/vda /mnt
    check "$system kept" sh -c 'sha256sum < /mnt/noise | cmp - /sum'
    check "$system unmounted again" umount /mnt
}
try ext4 mkfs.ext4 -q -F /dev/vda
check "ext4 checked" fsck.ext4 -f -n /dev/vda
try xfs mkfs.xfs -q -f /dev/vda
check "xfs checked" xfs_repair -n /dev/vda
""",
    ("fio", "mkfs.ext4", "fsck.ext4", "mkfs.xfs", "xfs_repair"),
)

# The guest's page cache is emptied all the time, so that what fsx reads comes from the drive.
FSX = Task(
    """
(while sync; do echo 1 > /proc/sys/vm/drop_caches; sleep 0.1; done) &
check "drive fsx" fsx -f /drive.toml -N 1500 -S 1 -P / /dev/vda
try() {
    system=$1; shift
    check "$system made" "$@"
    check "$system mounted" mount -t $system /dev/vda /mnt
    check "$system fsx" fsx -f /files.toml -N 1500 -S 2 -P / /mnt/file
    check "$system unmounted" umount /mnt
}
try ext4 mkfs.ext4 -q -F /dev/vda
check "ext4 checked" fsck.ext4 -f -n /dev/vda
try xfs mkfs.xfs -q -f /dev/vda
check "xfs checked" xfs_repair -n /dev/vda
""",
    ("fsx", "mkfs.ext4", "fsck.ext4", "mkfs.xfs", "xfs_repair"),
    {
        "files.toml": """flen = 4194304
[weights]
close_open = 2
read = 20
write = 20
mapread = 10
mapwrite = 10
truncate = 5
fsync = 3
fdatasync = 2
posix_fallocate = 2
punch_hole = 4
sendfile = 2
posix_fadvise = 5
copy_file_range = 3
""",
        # The drive's size does not change, and holes in it are whole sectors.
        "drive.toml": """flen = 4194304
blockmode = true
nosizechecks = true
[opsize]
align = 512
[weights]
read = 20
write = 20
mapread = 10
mapwrite = 10
truncate = 0
fsync = 3
fdatasync = 2
punch_hole = 4
sendfile = 2
posix_fadvise = 5
""",
    },
)


class MissingError(Exception):
    """Something that a guest needs is not here."""


def _kernel() -> tuple[Path, Path, Path]:
    """The kernel, the folder of its modules, and busybox."""
    folder = os.environ.get("TINYTAIL_GUEST")
    if not folder:
        raise MissingError("TINYTAIL_GUEST names no folder with a kernel")
    kernels = sorted(Path(folder).glob("boot/vmlinuz-*"))
    modules = sorted(Path(folder).glob("*lib/modules/*")) + sorted(
        Path(folder).glob("usr/lib/modules/*")
    )
    places = (Path(folder, "bin/busybox"), Path(folder, "usr/bin/busybox"))
    found = [path for path in places if path.exists()]
    if not (kernels and modules and found):
        raise MissingError(f"{folder} has no kernel, no modules or no busybox")
    return kernels[-1], modules[-1], found[0]


def _needed_modules(folder: Path) -> list[Path]:
    """The modules and what they depend on, in the order in which they are loaded."""
    files = {path.stem.replace("-", "_"): path for path in folder.rglob("*.ko")}
    ordered: list[Path] = []

    def add(name: str) -> None:
        path = files.get(name.replace("-", "_"))
        # What is missing is built into the kernel.
        if path is None or path in ordered:
            return
        found = re.search(rb"\0depends=([^\0]*)\0", path.read_bytes())
        for other in found[1].decode().split(",") if found else ():
            if other:
                add(other)
        ordered.append(path)

    for name in ("crc32c_generic", *MODULES):
        add(name)
    return ordered


def _libraries(program: str) -> set[str]:
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"(/\S+) \(0x", listed))


def _entry(name: str, mode: int, content: bytes, number: int) -> bytes:
    """A file in an archive of the kind that the kernel unpacks (cpio, `newc`)."""
    fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0)
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
    padded = head + b"\0" * (-len(head) % 4) + content
    return padded + b"\0" * (-len(padded) % 4)


def _archive(files: dict[str, tuple[int, bytes]]) -> bytes:
    folders = {str(parent) for name in files for parent in Path(name).parents} - {"."}
    folders |= {"proc", "sys", "dev", "mnt", "sbin", "usr/sbin"}
    entries = [(name, 0o040755, b"") for name in sorted(folders)]
    entries += [(name, 0o100000 | mode, content) for name, (mode, content) in files.items()]
    parts = [_entry(*entry, number) for number, entry in enumerate(entries, 1)]
    return b"".join(parts) + _entry("TRAILER!!!", 0, b"", 0)


def build(folder: Path, task: Task) -> tuple[Path, Path]:
    """Makes the archive of a guest with a task, and returns the kernel and the archive.

    Raises:
        MissingError: something is not here.
    """
    kernel, modules, busybox = _kernel()
    script = _START + task.script + _END
    files = {"init": (0o755, script.encode()), "bin/busybox": (0o755, busybox.read_bytes())}
    files |= {name: (0o644, content.encode()) for name, content in task.files.items()}
    ordered = _needed_modules(modules)
    for path in ordered:
        files[f"modules/{path.name}"] = (0o644, path.read_bytes())
    files["modules/order"] = (0o644, "".join(f"{path.name}\n" for path in ordered).encode())
    for name in task.programs:
        places = f"{os.environ['PATH']}:/usr/sbin:/sbin:{os.environ['TINYTAIL_GUEST']}/bin"
        program = shutil.which(name, path=places)
        if program is None:
            raise MissingError(f"{name} is not installed")
        files[f"usr/bin/{name}"] = (0o755, Path(program).read_bytes())
        for library in _libraries(program):
            files[library.lstrip("/")] = (0o755, Path(library).read_bytes())
    archive = folder / "guest.cpio.gz"
    archive.write_bytes(gzip.compress(_archive(files), 1))
    return kernel, archive


def boot(kernel: Path, archive: Path, socket: Path, timeout_seconds: float) -> str:
    """Boots the guest on the drive behind a socket, and returns what it said.

    Raises:
        MissingError: QEMU is not installed.
    """
    qemu = shutil.which("qemu-system-x86_64")
    if qemu is None:
        raise MissingError("qemu-system-x86_64 is not installed")
    drive = f"driver=raw,file.driver=nbd,file.server.type=unix,file.server.path={socket}"
    command = [qemu, "-accel", "tcg", "-cpu", "max", "-m", "768", "-smp", "1", "-no-reboot"]
    command += ["-kernel", str(kernel), "-initrd", str(archive)]
    command += ["-append", "console=ttyS0 quiet panic=-1 mitigations=off"]
    command += ["-nodefaults", "-nographic", "-serial", "stdio"]
    command += ["-drive", f"{drive},if=none,id=served,cache=none,discard=unmap"]
    command += ["-device", "virtio-blk-pci,drive=served"]
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=timeout_seconds,
        check=False,
    )
    return done.stdout + done.stderr
