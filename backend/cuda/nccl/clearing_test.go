package nccl

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/collective"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/tests/patience"
)

// TestOthersClear: calls of a group wait until the library has communicators of groups that failed back, as the driver
// may let nobody call a GPU until then, and not for long where the library waits for something else.
func TestOthersClear(t *testing.T) {
	for _, k := range []struct {
		name   string
		linger time.Duration
		first  string // of what is there in the end
	}{
		{"waits", time.Hour, "abort 0"},
		{"for a while", time.Millisecond, "allreduce"},
	} {
		t.Run(k.name, func(t *testing.T) {
			was := lingering
			lingering = k.linger
			t.Cleanup(func() { lingering = was })
			f := newFake(t)
			other := f.group(2, time.Hour)[1]
			c := f.group(1, time.Hour)[0]
			f.reset(success, 0)
			f.call("fake_graphs", 1)
			c.Abort(errors.New("no more"))
			v := ir.View{Addr: 0x70000, DType: ir.Float32, Shape: []int{4}, Strides: []int{1}}
			done := make(chan error, 1)
			go func() {
				s, err := f.drv.NewStream(1, 0)
				if err == nil {
					err = other.Do(device.StreamID(s), &collective.Call{Kind: collective.AllReduce, In: v, Out: v})
				}
				done <- err
			}()
			select {
			case err := <-done:
				must(t, err)
				close(done)
			case <-time.After(200 * time.Millisecond): // a call that does not wait is made meanwhile
			}
			f.call("fake_graphs", 0)
			must(t, <-done)
			patience.Until(t, func() bool { return strings.Contains(f.said(), "abort 0\n") })
			said := f.said()
			if at := strings.Index(said, "abort 0\n"); (at < strings.Index(said, "allreduce")) != (k.first == "abort 0") {
				t.Errorf("want %s first:\n%s", k.first, said)
			}
			if !patience.Until(t, func() bool { _, has := latestClearing(); return !has }) {
				t.Error("it is not seen that it was cleared")
			}
		})
	}
}
