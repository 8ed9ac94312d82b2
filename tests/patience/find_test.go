package patience

import (
	"runtime"
	"sync"
	"testing"

	"github.com/sinter-go/sinter/tests/brief"
)

// TestFindTogether has goroutines find cleanups at once: there are as many processors as before in the end.
func TestFindTogether(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range brief.Times(5) {
				find()
				runtime.GC() // which holds up who sets GOMAXPROCS
			}
		})
	}
	all.Wait()
	if got := runtime.GOMAXPROCS(0); got != before {
		t.Errorf("%d processors, there were %d", got, before)
	}
}
