// Package late makes every operator's work fail, operation by operation, on a device that
// works later than calls are made.
package late_test

import (
	"flag"
	"testing"

	"github.com/sinter-go/sinter/generated/opcases"
	"github.com/sinter-go/sinter/optest"
)

var (
	seed  = flag.Uint64("seed", 0, "other samples and dtypes than the smallest and the usual")
	every = flag.Int("every", 1, "how many operations there are to one that fails")
)

// TestFaults: an operator whose memory, launch or kernel fails says so where the host
// waits, leaves nothing behind and works the next time. The short form tries a part of the
// operations.
func TestFaults(t *testing.T) {
	step := *every
	if testing.Short() {
		step = 191
	}
	optest.RunFaults(t, opcases.Cases, step, true, *seed)
}
