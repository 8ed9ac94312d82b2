package cpu

import (
	"math"
	"syscall"
)

// addressLimit returns how many bytes of addresses the process may have, if that is
// limited (ulimit -v). Go reserves them in pieces of 64 MiB, with some more to know
// what is in these: as much is left to it. Addresses that it keeps for later count as
// used, since no one can say how they lie.
func addressLimit() (bytes int64, limited bool) {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_AS, &r); err != nil || uint64(r.Cur) >= math.MaxInt64 {
		return 0, false
	}
	return int64(r.Cur) - int64(r.Cur)/32 - arenaBytes, true
}

const arenaBytes = 64 << 20
