package simd

import "golang.org/x/sys/unix"

// permitTiles asks Linux for the tile registers, whose state a thread has room for
// from then on. The permission is the process's.
func permitTiles() bool {
	const requestPermission, tileData = 0x1023, 18
	_, _, errno := unix.RawSyscall(unix.SYS_ARCH_PRCTL, requestPermission, tileData, 0)
	return errno == 0
}
