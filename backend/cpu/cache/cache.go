// Package cache says how much data the processor's caches hold. It knows nothing of
// what is kept there.
package cache

import (
	"os"
	"strconv"
	"strings"
	"sync"
)

const (
	// usual is what is taken for the last cache where the system does not say.
	usual = 16 << 20
	// most bounds what is believed: the last cache of a server is shared with
	// programs, and machines, that this one does not see.
	most = 64 << 20
)

// Last returns the bytes of the last cache that one program can hope for.
var Last = sync.OnceValue(func() int { return last("/sys/devices/system/cpu/cpu0/cache/index") })

// last reads Linux's description of the caches.
func last(path string) int {
	for _, index := range []string{"3", "2"} {
		data, err := os.ReadFile(path + index + "/size")
		if n, ok := parse(string(data)); err == nil && ok {
			return min(n, most)
		}
	}
	return usual
}

// parse reads a size such as 512K or 32M.
func parse(s string) (bytes int, ok bool) {
	s, unit := strings.TrimSpace(s), 1
	if cut, has := strings.CutSuffix(s, "K"); has {
		s, unit = cut, 1<<10
	} else if cut, has := strings.CutSuffix(s, "M"); has {
		s, unit = cut, 1<<20
	}
	n, err := strconv.Atoi(s)
	if err != nil || n <= 0 || n > 1<<30 {
		return 0, false
	}
	return n * unit, true
}
