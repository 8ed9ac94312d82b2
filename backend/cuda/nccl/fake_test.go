package nccl

import (
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cuda/driver/dl"
	"github.com/sinter-go/sinter/backend/cuda/library/librarytest"
	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/collective"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/tests/patience"
)

//go:embed testdata/fakenccl.c
var fakeSource []byte

var must = librarytest.Must

// A simulatedGPUs is simulated accelerators in the place of GPUs.
type simulatedGPUs struct{ *sim.Driver }

func (simulatedGPUs) InContext(_ int, f func() error) error { return f() }

// A fake is a library that writes down what it is asked for, and the devices beside it.
type fake struct {
	t   *testing.T
	lib *dl.Library
	drv simulatedGPUs
}

func newFake(t *testing.T) *fake {
	t.Helper()
	f := &fake{t, librarytest.Compile(t, fakeSource), simulatedGPUs{sim.New(sim.Config{Devices: 3, Async: true, Kind: device.KindCUDA})}}
	device.Install(f.drv)
	was := process
	process = func() (*nccl, error) { return resolve(f.lib) }
	t.Cleanup(func() { process = was })
	f.reset(success, 0)
	return f
}

func (f *fake) call(name string, args ...uintptr) string {
	f.t.Helper()
	function, err := f.lib.Func(name)
	must(f.t, err)
	c := dl.Get()
	defer c.Free()
	c.Words[0] = function.Call(c, args...)
	if name == "fake_log" {
		return dl.GoString(c.Pointer(0))
	}
	return ""
}

// reset forgets what was said, and says what communicators say of themselves after a number
// of times that they are busy.
func (f *fake) reset(state, busy uintptr) { f.call("fake_reset", state, busy) }

func (f *fake) said() string { return f.call("fake_log") }

// limit changes how long a rank waits for others. Making the group is not part of what a test
// wants to see end.
func limit(c *Communicator, timeout time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timeout = timeout
}

// ended compares what was said, once the communicator of rank 0 was given back: who calls, or who
// looks after calls, does that behind the reason.
func (f *fake) ended(want string) {
	f.t.Helper()
	patience.Until(f.t, func() bool { return strings.HasSuffix(f.said(), "abort 0\n") })
	f.compare("what was done", want)
}

// group returns the ends of a group of n ranks, of which nothing was said yet.
func (f *fake) group(n int, timeout time.Duration) []*Communicator {
	f.t.Helper()
	id, err := NewID()
	must(f.t, err)
	devices := make([]device.Device, n)
	for i := range devices {
		devices[i] = device.CUDA(i)
	}
	list, err := New(id, devices, 0, n, timeout, nil)
	must(f.t, err)
	f.t.Cleanup(func() {
		for _, c := range list {
			c.Abort(errors.New("the test is over"))
			must(f.t, c.Close())
		}
	})
	return list
}

func (f *fake) compare(what, want string) {
	f.t.Helper()
	if diff := cmp.Diff(want, f.said()); diff != "" {
		f.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestGroup(t *testing.T) {
	f := newFake(t)
	f.reset(success, 5)
	list := f.group(2, patience.Left(t))
	said := "init 0 of 2 by 1 ii; 48 cafebeef 22300 blocking 0 undefined 1 net 0\ninit 1 of 2 by 1 ii; 48 cafebeef 22300 blocking 0 undefined 1 net 0\n" +
		"split 0: color 0 blocking 1 share 1\nsplit 1: color 0 blocking 1 share 1\n"
	f.compare("making", said)
	for rank, c := range list {
		if c.Rank() != rank || c.Size() != 2 || c.Device() != device.CUDA(rank) || c.Err() != nil {
			t.Errorf("rank %d: %d of %d on %s: %v", rank, c.Rank(), c.Size(), c.Device(), c.Err())
		}
		must(t, c.Close())
		must(t, c.Close())
		if err := c.Do(0, &collective.Call{}); !errors.Is(err, collective.ErrClosed) {
			t.Errorf("a call after that: %v", err)
		}
		said += fmt.Sprintf("destroy %d\ndestroy root %d\n", rank, rank)
		if n := f.drv.Counters(rank).LiveAllocs; n != 0 {
			t.Errorf("%d blocks are left", n)
		}
	}
	f.compare("closing", said)
}

// TestCalls compares the arguments of every call, of rank 1 of 3, as C gets them.
func TestCalls(t *testing.T) {
	f := newFake(t)
	c := f.group(3, patience.Left(t))[1]
	s, err := f.drv.NewStream(1, 0)
	must(t, err)
	view := func(at uint64, n int, d ir.DType) ir.View {
		return ir.View{Addr: 0x70000 + at, DType: d, Shape: []int{n}, Strides: []int{1}}
	}
	in, out, none := view(0x100, 6, ir.Float32), view(0x200, 6, ir.Float32), ir.View{}
	end := fmt.Sprintf(" comm 1 stream %d;", s)
	for _, k := range []struct {
		call collective.Call
		want []string
	}{
		{collective.Call{Kind: collective.AllReduce, Op: collective.Average, In: in, Out: in}, []string{"allreduce 100 100 6 type 7 op 4"}},
		{collective.Call{Kind: collective.AllReduce, In: view(0x100, 6, ir.Complex128), Out: out}, []string{"allreduce 100 200 12 type 8 op 0"}},
		{collective.Call{Kind: collective.Reduce, Op: collective.Max, Root: 2, In: in}, []string{"reduce 100 0 6 type 7 op 2 root 2"}},
		{collective.Call{Kind: collective.ReduceScatter, Op: collective.Min, In: in, Out: view(0x200, 2, ir.Float32)}, []string{"reducescatter 100 200 2 type 7 op 3"}},
		{collective.Call{Kind: collective.Broadcast, Root: 0, Out: out}, []string{"broadcast 200 200 24 type 1 root 0"}},
		{collective.Call{Kind: collective.Broadcast, Root: 1, In: in, Out: out}, []string{"broadcast 100 200 24 type 1 root 1"}},
		{collective.Call{Kind: collective.AllGather, In: in, Out: view(0x200, 18, ir.Float32)}, []string{"allgather 100 200 24 type 1"}},
		{collective.Call{Kind: collective.Gather, Root: 0, In: in}, []string{"send 100 24 type 1 to 0"}},
		{collective.Call{Kind: collective.Gather, Root: 1, In: in, Out: view(0x200, 18, ir.Float32)},
			[]string{"send 100 24 type 1 to 1", "recv 200 24 type 1 from 0", "recv 218 24 type 1 from 1", "recv 230 24 type 1 from 2"}},
		{collective.Call{Kind: collective.Scatter, Root: 2, In: none, Out: view(0x200, 2, ir.Float32)}, []string{"recv 200 8 type 1 from 2"}},
		{collective.Call{Kind: collective.Scatter, Root: 1, In: in, Out: view(0x200, 2, ir.Float32)},
			[]string{"send 100 8 type 1 to 0", "send 108 8 type 1 to 1", "send 110 8 type 1 to 2", "recv 200 8 type 1 from 1"}},
		{collective.Call{Kind: collective.AllToAll, In: in, Out: out}, []string{"send 100 8 type 1 to 0", "send 108 8 type 1 to 1", "send 110 8 type 1 to 2",
			"recv 200 8 type 1 from 0", "recv 208 8 type 1 from 1", "recv 210 8 type 1 from 2"}},
		{collective.Call{Kind: collective.Send, Root: 2, In: in}, []string{"send 100 24 type 1 to 2"}},
		{collective.Call{Kind: collective.Receive, Root: 0, Out: out}, []string{"recv 200 24 type 1 from 0"}},
	} {
		f.reset(success, 2)
		must(t, c.Do(s, &k.call))
		want := strings.Join(k.want, end) + end
		if len(k.want) > 1 || k.call.Kind == collective.Gather || k.call.Kind == collective.Scatter {
			want = "{" + want + "}\n"
		}
		f.compare(k.call.String(), want)
	}
	f.reset(success, 0)
	if err := c.Do(s, &collective.Call{Kind: collective.AllReduce, In: view(0, 2, ir.Int16), Out: view(0, 2, ir.Int16)}); !errors.Is(err, collective.ErrCall) {
		t.Errorf("int16: %v", err)
	}
	f.compare("a call that is refused", "")
	must(t, c.Err())
}

// TestFaults: a rank whose connection breaks, or whose call hangs, aborts its communicator
// and says in which call.
func TestFaults(t *testing.T) {
	for _, k := range []struct {
		name    string
		timeout time.Duration
		state   uintptr
		texts   []string
		want    error
	}{
		{"broken", time.Hour, 6, []string{"all-reduce(sum) of float32 [4]", "remote process exited (6)"}, nil},
		{"hangs", 50 * time.Millisecond, success, []string{"all-reduce(sum) of float32 [4]", "rank 0 waited 50ms"}, collective.ErrTimeout},
	} {
		t.Run(k.name, func(t *testing.T) {
			f := newFake(t)
			c := f.group(1, time.Hour)[0]
			s, err := f.drv.NewStream(0, 0)
			must(t, err)
			release, err := f.drv.Hold(0, s)
			must(t, err)
			defer release()
			v := ir.View{Addr: 0x70000, DType: ir.Float32, Shape: []int{4}, Strides: []int{1}}
			f.reset(success, 0)
			must(t, c.Do(s, &collective.Call{Kind: collective.AllReduce, In: v, Out: v}))
			limit(c, k.timeout)
			f.call("fake_state", k.state, 0)
			if !patience.Until(t, func() bool { return c.Err() != nil }) {
				t.Fatal("nobody noticed")
			}
			for _, text := range k.texts {
				if !strings.Contains(c.Err().Error(), text) {
					t.Errorf("%v: does not say %q", c.Err(), text)
				}
			}
			if k.want != nil && !errors.Is(c.Err(), k.want) {
				t.Errorf("%v, want %v", c.Err(), k.want)
			}
			f.ended(fmt.Sprintf("allreduce 0 0 4 type 7 op 0 comm 0 stream %d;abort root 0\nabort 0\n", s))
			if err := c.Do(s, &collective.Call{Kind: collective.Barrier}); err == nil || err.Error() != c.Err().Error() {
				t.Errorf("the next call: %v", err)
			}
			release()
			must(t, c.Close())
			if n := f.drv.Counters(0).LiveAllocs; n != 0 {
				t.Errorf("%d blocks are left", n)
			}
		})
	}
}

// TestHangs: a call that does not return, as the first ones connect the ranks, ends with the
// timeout, and the error says which it was.
func TestHangs(t *testing.T) {
	f := newFake(t)
	c := f.group(1, time.Hour)[0]
	s, err := f.drv.NewStream(0, 0)
	must(t, err)
	limit(c, 50*time.Millisecond)
	f.reset(success, 0)
	f.call("fake_hang")
	v := ir.View{Addr: 0x70000, DType: ir.Float32, Shape: []int{4}, Strides: []int{1}}
	err = c.Do(s, &collective.Call{Kind: collective.AllReduce, In: v, Out: v})
	if !errors.Is(err, collective.ErrTimeout) || !strings.Contains(err.Error(), "all-reduce(sum) of float32 [4]: rank 0 waited 50ms") {
		t.Errorf("a call that hangs: %v", err)
	}
	f.ended(fmt.Sprintf("allreduce 0 0 4 type 7 op 0 comm 0 stream %d;abort root 0\nabort 0\n", s))
	must(t, c.Close())
}

// A told is a Monitor that notes what was made.
type told struct {
	Monitor
	made []string
}

func (m *told) Made(group string, size int, first uint64, calls []string) {
	m.made = append(m.made, fmt.Sprintf("%s of %d, from %d: %s", group, size, first, strings.Join(calls, ", ")))
}

// TestReplayed: a monitor learns of calls that are captured as they are replayed, in their place among the others.
func TestReplayed(t *testing.T) {
	f := newFake(t)
	c := f.group(1, patience.Left(t))[0]
	m := &told{}
	c.monitor = m
	s, err := f.drv.NewStream(0, 0)
	must(t, err)
	v := ir.View{Addr: 0x70000, DType: ir.Float32, Shape: []int{4}, Strides: []int{1}}
	call := &collective.Call{Kind: collective.AllReduce, In: v, Out: v}
	must(t, c.Do(s, call))
	_, err = f.drv.BeginCapture(0, s, device.CaptureOptions{})
	must(t, err)
	must(t, c.Do(s, call, &collective.Call{Kind: collective.Barrier}))
	r, err := f.drv.EndCapture(0, s)
	must(t, err)
	must(t, r.Destroy())
	must(t, c.Do(s, call))
	for range 2 {
		c.Replayed([]string{call.String(), "barrier"})
	}
	c.Replayed(nil)
	must(t, c.Do(s, call))
	sum := "all-reduce(sum) of float32 [4]"
	want := []string{" of 1, from 1: " + sum, " of 1, from 2: " + sum, " of 1, from 3: " + sum + ", barrier", " of 1, from 5: " + sum + ", barrier", " of 1, from 7: " + sum}
	if diff := cmp.Diff(want, m.made); diff != "" {
		t.Errorf("what was told (-want +got):\n%s", diff)
	}
}

// A listening is a Monitor that is told why ends are given up.
type listening struct {
	Monitor
	gaveUp func(why error)
}

func (m listening) Made(string, int, uint64, []string) {}
func (m listening) GaveUp(_ string, why error)         { m.gaveUp(why) }
func (m listening) Left(string, int)                   {}

// TestToldFirst: who gives a group up tells the other processes before anybody of this one is told, for the
// process may end then. What comes back of that is not another reason.
func TestToldFirst(t *testing.T) {
	why := errors.New("its disk is full")
	v := ir.View{Addr: 0x70000, DType: ir.Float32, Shape: []int{4}, Strides: []int{1}}
	call := &collective.Call{Kind: collective.AllReduce, In: v, Out: v}
	for _, k := range []struct {
		name string
		do   func(c *Communicator, f *fake, s device.StreamID)
		want string
	}{
		{"aborts", func(c *Communicator, _ *fake, _ device.StreamID) { c.Abort(why) }, "rank 0 gave up: its disk is full"},
		{"a call fails", func(c *Communicator, f *fake, s device.StreamID) {
			c.driver = failing{f.drv, func() {}, why}
			_ = c.Do(s, call)
		}, "all-reduce(sum) of float32 [4]: its disk is full"},
		{"the GPU fails", func(c *Communicator, f *fake, s device.StreamID) {
			c.driver = faulty{f.drv, why}
			_ = c.Do(s, call)
		}, "all-reduce(sum) of float32 [4]: its disk is full"},
	} {
		t.Run(k.name, func(t *testing.T) {
			f := newFake(t)
			c := f.group(1, time.Hour)[0]
			s, err := f.drv.NewStream(0, 0)
			must(t, err)
			var told []error
			c.name = "g"
			c.monitor = listening{gaveUp: func(why error) {
				if told = append(told, why); c.Err() != nil {
					t.Errorf("the group has failed already with %v", c.Err())
				}
				c.Fail(errors.New("rank 0 said so")) // as rank 0 of a group is told at once
			}}
			k.do(c, f, s)
			if !patience.Until(t, func() bool { return c.Err() != nil }) {
				t.Fatal("nobody noticed")
			}
			c.Abort(errors.New("no more"))
			if len(told) != 1 || told[0].Error() != k.want || !errors.Is(c.Err(), why) || c.Err().Error() != k.want {
				t.Errorf("told %v, the group's error is %v; want %s once", told, c.Err(), k.want)
			}
		})
	}
}

// TestGraphsStay: who gives a group up, or closes it, frees graphs with its calls only then. The library waits for
// that, and nobody for the library.
func TestGraphsStay(t *testing.T) {
	for _, k := range []struct {
		name string
		do   func(c *Communicator) error
		want string
	}{
		{"aborts", func(c *Communicator) error { c.Abort(errors.New("no more")); return nil }, "abort root 0\nabort 0\n"},
		{"aborts and closes", func(c *Communicator) error { c.Abort(errors.New("no more")); return c.Close() }, "abort root 0\nabort 0\n"},
		{"closes", (*Communicator).Close, "destroy 0\ndestroy root 0\n"},
	} {
		if testing.Short() && k.name == "aborts" {
			continue // lingers for a second, as the next one does, which closes too
		}
		t.Run(k.name, func(t *testing.T) {
			f := newFake(t)
			c := f.group(1, time.Hour)[0]
			f.reset(success, 0)
			f.call("fake_graphs", 1)
			done := make(chan error)
			go func() { done <- k.do(c) }()
			select {
			case err := <-done:
				must(t, err)
			case <-time.After(patience.Left(t) / 2):
				t.Error("it waits for graphs")
			}
			f.call("fake_graphs", 0)
			patience.Until(t, func() bool { return strings.HasSuffix(f.said(), k.want) })
			f.compare("what was given back", k.want)
		})
	}
}

// TestClosesInReplay: a rank that closes while a replay of its own waits for another rank keeps its communicator
// until that one gives up, or the timeout is over.
func TestClosesInReplay(t *testing.T) {
	for _, k := range []struct {
		name    string
		timeout time.Duration
		want    error
	}{
		{"another rank gives up", time.Hour, nil},
		{"nobody does", 50 * time.Millisecond, collective.ErrTimeout},
	} {
		t.Run(k.name, func(t *testing.T) {
			f := newFake(t)
			list := f.group(2, time.Hour)
			c := list[0]
			c.timeout = k.timeout
			s, err := f.drv.NewStream(0, 0)
			must(t, err)
			_, err = f.drv.BeginCapture(0, s, device.CaptureOptions{})
			must(t, err)
			v := ir.View{Addr: 0x70000, DType: ir.Float32, Shape: []int{4}, Strides: []int{1}}
			must(t, c.Do(s, &collective.Call{Kind: collective.AllReduce, In: v, Out: v}))
			r, err := f.drv.EndCapture(0, s)
			must(t, err)
			defer r.Destroy()
			release, err := f.drv.Hold(0, s) // a replay, which ends as the root is aborted
			must(t, err)
			f.reset(success, 0)
			done := make(chan error)
			go func() { done <- c.Close() }()
			if k.want == nil {
				time.Sleep(20 * time.Millisecond) // time to give it back
				f.compare("what is done in the replay", "")
				list[1].Abort(errors.New("no more"))
			}
			if !patience.Until(t, func() bool { return strings.Contains(f.said(), "abort root 0\n") }) {
				t.Errorf("the replay is not ended; said %q", f.said())
			}
			release()
			if err := <-done; k.want == nil && err != nil || !errors.Is(err, k.want) {
				t.Errorf("Close: %v, want %v", err, k.want)
			}
		})
	}
}

// TestNobodyComes: joining ends with the timeout.
func TestNobodyComes(t *testing.T) {
	f := newFake(t)
	f.reset(success, 1<<30)
	_, err := New(ID{}, []device.Device{device.CUDA(0)}, 1, 2, 20*time.Millisecond, nil)
	if !errors.Is(err, collective.ErrTimeout) || !strings.Contains(err.Error(), "rank 1 on cuda:0: joining the group") {
		t.Error(err)
	}
	if !strings.HasSuffix(f.said(), "abort root 1\n") {
		t.Errorf("said %q", f.said())
	}
}

// A failing is GPUs on which a group fails while a call that was given to one is noted.
type failing struct {
	simulatedGPUs
	fail func()
	err  error // of recording events
}

func (d failing) RecordEvent(dev int, e device.EventID, s device.StreamID) error {
	if d.err != nil {
		return d.err
	}
	return d.simulatedGPUs.RecordEvent(dev, e, s)
}

func (d failing) CaptureOf(dev int, s device.StreamID) device.CaptureID {
	d.fail()
	return d.simulatedGPUs.CaptureOf(dev, s)
}

// TestFailsLate: a group that fails when a call was given to the GPU already, and Do has not
// returned, gives its communicator back, so that the GPU does not wait for ranks that are gone.
func TestFailsLate(t *testing.T) {
	f := newFake(t)
	c := f.group(1, time.Hour)[0]
	s, err := f.drv.NewStream(0, 0)
	must(t, err)
	f.reset(success, 0)
	gone := errors.New("rank 1 is gone")
	c.driver = failing{f.drv, func() { c.Fail(gone) }, nil}
	v := ir.View{Addr: 0x70000, DType: ir.Float32, Shape: []int{4}, Strides: []int{1}}
	must(t, c.Do(s, &collective.Call{Kind: collective.AllReduce, In: v, Out: v}))
	f.ended(fmt.Sprintf("allreduce 0 0 4 type 7 op 0 comm 0 stream %d;abort root 0\nabort 0\n", s))
	if !errors.Is(c.Err(), gone) {
		t.Errorf("the group's error is %v", c.Err())
	}
	must(t, c.Close())
}

// A faulty is GPUs that fail as they are asked whether calls are done.
type faulty struct {
	simulatedGPUs
	err error
}

func (d faulty) EventDone(int, device.EventID) (bool, error) { return false, d.err }

// TestFaultOfDevice: a GPU that fails behind the last call ends the group for all ranks.
func TestFaultOfDevice(t *testing.T) {
	f := newFake(t)
	list := f.group(2, time.Hour)
	broken := errors.New("an illegal access")
	list[0].driver = faulty{f.drv, broken}
	s, err := f.drv.NewStream(0, 0)
	must(t, err)
	v := ir.View{Addr: 0x70000, DType: ir.Float32, Shape: []int{4}, Strides: []int{1}}
	must(t, list[0].Do(s, &collective.Call{Kind: collective.AllReduce, In: v, Out: v}))
	if !patience.Until(t, func() bool { return list[1].Err() != nil }) {
		t.Fatal("rank 1 was not told")
	}
	for rank, c := range list {
		if !errors.Is(c.Err(), broken) {
			t.Errorf("rank %d: %v", rank, c.Err())
		}
	}
	for _, text := range []string{"abort 0\n", "abort 1\n"} {
		if !patience.Until(t, func() bool { return strings.Contains(f.said(), text) }) {
			t.Errorf("%q is not in %q", text, f.said())
		}
	}
}

// A silent is GPUs that do not answer whether calls are done.
type silent struct {
	simulatedGPUs
	asked chan struct{} // closed at the first question
	once  *sync.Once
	speak chan struct{} // closed: they answer
}

func (d silent) EventDone(dev int, e device.EventID) (bool, error) {
	d.once.Do(func() { close(d.asked) })
	<-d.speak
	return d.simulatedGPUs.EventDone(dev, e)
}

// TestSilence: a GPU whose driver answers nobody while it waits for another rank holds up neither those who ask why
// the group failed nor who ends it, and the timeout ends it as well.
func TestSilence(t *testing.T) {
	why := errors.New("no more")
	for _, k := range []struct {
		name string
		end  func(c *Communicator)
		want error
		text string
	}{
		{"aborts", func(c *Communicator) { c.Abort(why) }, why, "rank 0 gave up: no more"},
		{"is told", func(c *Communicator) { c.Fail(why) }, why, "all-reduce(sum) of float32 [4]: no more"},
		{"late", func(c *Communicator) { limit(c, 50*time.Millisecond) }, collective.ErrTimeout, "all-reduce(sum) of float32 [4]: rank 0 waited 50ms for the others"},
	} {
		t.Run(k.name, func(t *testing.T) {
			f := newFake(t)
			c := f.group(1, time.Hour)[0]
			drv := silent{f.drv, make(chan struct{}), new(sync.Once), make(chan struct{})}
			c.driver = drv
			s, err := f.drv.NewStream(0, 0)
			must(t, err)
			v := ir.View{Addr: 0x70000, DType: ir.Float32, Shape: []int{4}, Strides: []int{1}}
			must(t, c.Do(s, &collective.Call{Kind: collective.AllReduce, In: v, Out: v}))
			<-drv.asked
			failed := make(chan error, 1)
			go func() {
				if err := c.Err(); err != nil {
					t.Error(err)
				}
				k.end(c)
				patience.Until(t, func() bool { return c.Err() != nil })
				failed <- c.Err()
			}()
			select {
			case err := <-failed:
				if !errors.Is(err, k.want) || !strings.Contains(err.Error(), k.text) {
					t.Errorf("%v; want %s", err, k.text)
				}
			case <-time.After(patience.Left(t) / 2):
				t.Error("the group does not end")
			}
			close(drv.speak)
			must(t, c.Close())
		})
	}
}
