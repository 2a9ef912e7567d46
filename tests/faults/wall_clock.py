"""Wall clocks that are wrong: a process of the plant may be told another time than the others.

A few lines of C, loaded before libc, add a number to what the system says. Only the time of day is
moved; what waits and measures goes by the monotonic clock, as it does where a real clock is set.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

CLOCK_VARIABLE = "FAULTS_CLOCK"
_SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

static volatile int64_t none = 0;
static volatile int64_t *ahead = &none;

__attribute__((constructor)) static void read_clock(void) {
    const char *path = getenv("FAULTS_CLOCK");
    int file = path ? open(path, O_RDONLY) : -1;
    if (file < 0) return;
    void *seen = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
    if (seen != MAP_FAILED) ahead = seen;
}

int clock_gettime(clockid_t id, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int failed = real(id, now);
    if (!failed && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) now->tv_sec += *ahead;
    return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec moment;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &moment)) return -1;
    now->tv_sec = moment.tv_sec;
    now->tv_usec = moment.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *told) {
    struct timespec moment;
    clock_gettime(CLOCK_REALTIME, &moment);
    if (told) *told = moment.tv_sec;
    return moment.tv_sec;
}
"""


@dataclass(frozen=True, slots=True)
class WallClocks:
    """The library, and a file for each process with the seconds that its clock is ahead."""

    folder: Path
    library: Path | None

    @classmethod
    def built(cls, folder: Path) -> WallClocks:
        """Compile it, where there is a compiler."""
        compiler, library = shutil.which("cc") or shutil.which("gcc"), folder / "wall_clock.so"
        if compiler is None:
            return cls(folder, None)
        source = folder / "wall_clock.c"
        source.write_text(_SOURCE)
        command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(source), "-ldl"]
        made = subprocess.run(command, capture_output=True, check=False)
        return cls(folder, library if made.returncode == 0 else None)

    def environment(self, process: str) -> dict[str, str]:
        """What a process needs to go by its own clock."""
        if self.library is None:
            return {}
        if not self._file(process).exists():
            self.set(process, ahead=0)
        return {"LD_PRELOAD": str(self.library), CLOCK_VARIABLE: str(self._file(process))}

    def set(self, process: str, *, ahead: int) -> None:
        """From this moment on its clock is so many seconds ahead; a running process follows."""
        with self._file(process).open("r+b" if self._file(process).exists() else "wb") as file:
            file.write(struct.pack("=q", ahead))

    def _file(self, process: str) -> Path:
        return self.folder / f"clock-{process}"
