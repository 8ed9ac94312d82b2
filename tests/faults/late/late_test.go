// Package late makes every operator's work fail, operation by operation, on a device that
// works later than calls are made.
package late_test

import (
	"testing"

	"github.com/sinter-go/sinter/generated/opcases"
	"github.com/sinter-go/sinter/optest"
)

// TestFaults: an operator whose memory, launch or kernel fails says so where the host
// waits, leaves nothing behind and works the next time. The short form tries a part of the
// operations.
func TestFaults(t *testing.T) {
	step := 1
	if testing.Short() {
		step = 191
	}
	optest.RunFaults(t, opcases.Cases, step, true)
}
