package compile

import (
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/local"
)

// A turn is had by the goroutine that records a function: one at a time, since a recording
// changes the function's state, and takes it back at the end.
type turn struct {
	mu   sync.Mutex
	name string // of the function's programs
}

// A taken is a turn that a goroutine has, and the one that it had before.
type taken struct {
	*turn
	before *taken
}

// turns are those of the calling goroutine.
var turns = local.NewKey[*taken]()

// long is how long a goroutine waits for a turn before it says so: no recording takes that long,
// but one whose function waits for this goroutine never ends.
const long = 10 * time.Second

// take calls f in a turn. It is an error where the calling goroutine has it: it would wait
// for itself.
func (t *turn) take(f func() error) error { return t.takeWithin(long, f) }

// takeWithin is take that says so when it has waited for a time.
func (t *turn) takeWithin(patience time.Duration, f func() error) error {
	had, _ := turns.Get()
	for h := had; h != nil; h = h.before {
		if h.turn == t {
			return core.At(fmt.Errorf("%w: the function is being recorded, and what it calls calls it again outside of the recording", ErrUnrecordable))
		}
	}
	if !t.mu.TryLock() {
		late := time.AfterFunc(patience, func() {
			slog.Warn("sinter: a call waits for another goroutine to record the function; one that waits for this call never ends", "function", t.name, "waited", patience)
		})
		t.mu.Lock()
		late.Stop()
	}
	defer t.mu.Unlock()
	return turns.Try(&taken{t, had}, f)
}
