package optest_test

import (
	"flag"
	"testing"

	"github.com/sinter-go/sinter/generated/opcases"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/optest"
	"github.com/sinter-go/sinter/tests/brief"
)

var (
	samples = flag.Uint64("samples", 0, "other samples and dtypes for faults than the smallest and the usual")
	every   = flag.Int("every", 1, "how many operations there are to one that fails")
)

// TestFaults: an operator whose memory, launch or kernel fails on a device that works as
// calls are made says so, leaves nothing behind and works the next time. The short form tries
// a part of the operations.
func TestFaults(t *testing.T) {
	begin(t)
	optest.RunFaults(t, some(), step(), false, *samples)
}

// TestLater is TestFaults on a device that works later: errors come where the host waits.
func TestLater(t *testing.T) {
	begin(t)
	optest.RunFaults(t, some(), step(), true, *samples)
}

// begin has the processor's workers begin, which stay, before goroutines are counted.
func begin(t *testing.T) {
	t.Helper()
	if err := tensor.Scope(func() error { return tensor.Ones([]int{1 << 21}).Exp().Err() }); err != nil {
		t.Fatal(err)
	}
}

// step is how many operations there are to one that fails.
func step() int {
	if testing.Short() {
		return 97
	}
	return *every
}

// TestUnwritten: a form that should have changed a tensor and failed, and whose error
// nobody looked at, is found at the tensor's next use.
func TestUnwritten(t *testing.T) { optest.RunUnwritten(t, opcases.Cases) }

// some returns the operators whose work fails, in a short run a part of them.
func some() []optest.Operator {
	var list []optest.Operator
	for i, o := range opcases.Cases {
		if !brief.Skip(i) {
			list = append(list, o)
		}
	}
	return list
}
