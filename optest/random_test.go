package optest_test

import (
	"flag"
	"testing"

	_ "github.com/sinter-go/sinter/backend/all"
	"github.com/sinter-go/sinter/generated/opcases"
	"github.com/sinter-go/sinter/optest"
	"github.com/sinter-go/sinter/tests/patience"
)

var (
	seed  = flag.Uint64("seed", 1, "of the calls")
	first = flag.Int("first", 0, "the first `call` of the seed that is made")
	calls = flag.Int("calls", 20000, "how many `calls` are made")
)

// TestCalls: whatever operators are called with, they agree with the reference, or say what
// is wrong and leave everything as it was. Other calls are those of another seed:
//
//	go test ./optest -run TestCalls -seed 7 -calls 1000000 -timeout 0
func TestCalls(t *testing.T) {
	if testing.Short() {
		*calls = min(*calls, 400)
	}
	optest.RunRandom(t, opcases.Cases, *seed, *first, *calls, patience.Left(t))
}
