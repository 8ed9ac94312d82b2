package jit

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
)

// perfMap guards the file that perf reads the names of functions from.
var perfMap sync.Mutex

// describe adds the block's functions to the map that perf looks for, if SINTER_PERF_MAP
// is 1. Elsewhere profiles name the code by what called it: callSmall and callLarge.
func (b *Block) describe() {
	if os.Getenv("SINTER_PERF_MAP") != "1" {
		return
	}
	names := make([]string, 0, len(b.entry))
	for name := range b.entry {
		names = append(names, name)
	}
	slices.SortFunc(names, func(x, y string) int { return b.entry[x].at - b.entry[y].at })
	var text strings.Builder
	for i, name := range names {
		to := len(b.memory)
		if i+1 < len(names) {
			to = b.entry[names[i+1]].at
		}
		from := b.entry[name].at
		fmt.Fprintf(&text, "%s %x sinter·%s\n", strings.TrimPrefix(fmt.Sprintf("%p", &b.memory[from]), "0x"), to-from, name)
	}
	perfMap.Lock()
	defer perfMap.Unlock()
	f, err := os.OpenFile(fmt.Sprintf("/tmp/perf-%d.map", os.Getpid()), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	f.WriteString(text.String())
	f.Close()
}
