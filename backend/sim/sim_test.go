package sim

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/tests/patience"
)

// check stops the test at an error.
func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantError reports an error that is missing or does not hold the given texts.
func wantError(t *testing.T, err error, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("error %v, want %q", err, text)
		}
	}
}

// rig is a driver with helpers that stop the test at errors.
type rig struct {
	*Driver
	t *testing.T
}

func (r rig) alloc(dev int, bytes int64) uint64 {
	r.t.Helper()
	m, err := r.Alloc(dev, bytes)
	check(r.t, err)
	return m.Addr
}

func (r rig) stream(dev int) device.StreamID {
	r.t.Helper()
	s, err := r.NewStream(dev, 0)
	check(r.t, err)
	return s
}

func (r rig) event(dev int) device.EventID {
	r.t.Helper()
	e, err := r.NewEvent(dev, true)
	check(r.t, err)
	return e
}

// put copies numbers to new memory of a device and waits.
func (r rig) put(dev int, values ...float32) uint64 {
	r.t.Helper()
	addr := r.alloc(dev, int64(4*len(values)))
	check(r.t, r.CopyFromHost(dev, 0, addr, unsafe.Pointer(&values[0]), int64(4*len(values))))
	check(r.t, r.SyncStream(context.Background(), dev, 0))
	return addr
}

// get waits for a device and returns n numbers of its memory.
func (r rig) get(dev int, addr uint64, n int) []float32 {
	r.t.Helper()
	values := make([]float32, n)
	check(r.t, r.SyncDevice(context.Background(), dev))
	check(r.t, r.CopyToHost(dev, 0, unsafe.Pointer(&values[0]), addr, int64(4*n)))
	check(r.t, r.SyncStream(context.Background(), dev, 0))
	return values
}

var addOp = ir.Op{
	Name: "add", Kind: ir.Elementwise, In: []ir.Operand{{Name: "x"}, {Name: "y"}}, Out: []ir.Result{{}}, Bodies: []ir.Body{{Exprs: []string{"x + y"}}},
}

// add returns the call out = x + y over n numbers.
func add(out, x, y uint64, n int) *ir.Call {
	view := func(addr uint64) ir.View {
		return ir.View{Addr: addr, DType: ir.Float32, Shape: []int{n}, Strides: []int{1}}
	}
	return &ir.Call{Kernel: addOp.Kernel(0, ir.Float32), Space: []int{n}, Out: []ir.View{view(out)}, In: []ir.View{view(x), view(y)}}
}

// each runs a test on a synchronous and an asynchronous driver of two devices.
func each(t *testing.T, f func(t *testing.T, r rig)) {
	for name, c := range map[string]Config{
		"synchronous":  {Devices: 2, Memory: 1 << 20},
		"asynchronous": {Devices: 2, Memory: 1 << 20, Async: true},
		"delayed":      {Devices: 2, Memory: 1 << 20, Async: true, Delay: time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) { f(t, rig{New(c), t}) })
	}
}

func TestDevices(t *testing.T) {
	d := New(Config{Devices: 3, Memory: 5000, Kind: device.KindCUDA})
	n, err := d.DeviceCount()
	if n != 3 || err != nil || d.Kind() != device.KindCUDA {
		t.Errorf("%d devices of kind %s, %v", n, d.Kind(), err)
	}
	p, err := d.Properties(2)
	if diff := cmp.Diff(device.Properties{Name: "Simulated accelerator", TotalMemory: 5000, UUID: "SIM-2"}, p); diff != "" || err != nil {
		t.Error(diff, err)
	}
	_, err = d.Properties(3)
	wantError(t, err, "cuda:3", "3 devices")
	if !errors.Is(err, device.ErrUnavailable) {
		t.Errorf("%v does not wrap ErrUnavailable", err)
	}
	none := New(Config{})
	if n, err := none.DeviceCount(); n != 0 || err == nil || none.Kind() != device.KindSim {
		t.Errorf("%d devices of kind %s, %v", n, none.Kind(), err)
	}
}

func TestMemory(t *testing.T) {
	d := New(Config{Devices: 2, Memory: 1000})
	a, err := d.Alloc(0, 600)
	check(t, err)
	if a.Addr%512 != 0 || a.Host != nil || a.Bytes != 600 {
		t.Errorf("Alloc = %+v", a)
	}
	_, err = d.Alloc(0, 401)
	wantError(t, err, "sim:0", "401 bytes", "400 of 1000")
	if !errors.Is(err, device.ErrOutOfMemory) {
		t.Errorf("%v does not wrap ErrOutOfMemory", err)
	}
	b, err := d.Alloc(0, 400)
	check(t, err)
	if free, total, err := d.MemoryInfo(0); free != 0 || total != 1000 || err != nil {
		t.Errorf("MemoryInfo = %d, %d, %v", free, total, err)
	}
	wantError(t, d.Free(1, a), "sim:1", "sim:0")
	check(t, d.Free(0, a))
	wantError(t, d.Free(0, a), "was freed")
	c, err := d.Alloc(0, 600)
	check(t, err)
	if c.Addr == a.Addr {
		t.Error("an address was used twice")
	}
	var one [1]float32
	host := unsafe.Pointer(&one)
	for _, bad := range []struct {
		err   error
		texts []string
	}{
		{d.CopyToHost(0, 0, host, a.Addr, 4), []string{"was freed"}},
		{d.CopyToHost(1, 0, host, b.Addr, 4), []string{"used on sim:1", "memory of sim:0"}},
		{d.CopyToHost(0, 0, host, b.Addr+398, 4), []string{"reach past the end"}},
		{d.CopyToHost(0, 0, host, b.Addr+400, 4), []string{"not allocated"}},
		{d.CopyToHost(0, 0, host, uint64(uintptr(host)), 4), []string{"no device's memory"}},
		{d.CopyToHost(0, 0, host, 0, 4), []string{"no device's memory"}},
		{d.CopyToHost(0, 7, host, b.Addr, 4), []string{"no stream 7"}},
		{d.CopyToHost(0, 0, host, b.Addr, -1), []string{"-1 bytes"}},
	} {
		wantError(t, bad.err, bad.texts...)
	}
	check(t, d.CopyToHost(0, 0, host, b.Addr, 4))
	if one[0] == 0 {
		t.Error("new memory is clear: a program could rely on it")
	}
	check(t, d.CopyToHost(0, 0, host, b.Addr+396, 4))
	if one[0] == 0 {
		t.Error("the end of new memory is clear")
	}
	_, err = d.Alloc(0, 0)
	wantError(t, err, "0 bytes")
	want := Counters{Allocs: 3, Frees: 1, LiveAllocs: 2, LiveBytes: 1000, PeakBytes: 1000, ToHost: Traffic{2, 8}}
	if diff := cmp.Diff(want, d.Counters(0)); diff != "" {
		t.Error(diff)
	}
}

func TestHostMemory(t *testing.T) {
	d := New(Config{Devices: 1})
	m, err := d.AllocHost(100)
	check(t, err)
	if m.Host == nil || uintptr(m.Host)%64 != 0 || m.Bytes != 100 {
		t.Errorf("AllocHost = %+v", m)
	}
	check(t, d.FreeHost(m))
	wantError(t, d.FreeHost(device.Memory{Addr: 5}), "not host memory")
	_, err = d.AllocHost(0)
	wantError(t, err, "0 bytes")
}

func TestCopies(t *testing.T) {
	each(t, func(t *testing.T, r rig) {
		x := r.put(0, 1, 2, 3, 4)
		y, z := r.alloc(0, 16), r.alloc(1, 16)
		check(t, r.Zero(0, 0, device.Memory{Addr: y, Bytes: 16}, 16))
		check(t, r.CopyOnDevice(0, 0, y+8, x, 8))
		check(t, r.CopyPeer(0, 0, 1, z, y, 16))
		check(t, r.SyncDevice(context.Background(), 0))
		if diff := cmp.Diff([]float32{0, 0, 1, 2}, r.get(1, z, 4)); diff != "" {
			t.Error(diff)
		}
		wantError(t, r.CopyOnDevice(0, 0, z, x, 8), "used on sim:0", "memory of sim:1")
		wantError(t, r.CopyPeer(0, 0, 1, x, x, 8), "used on sim:1", "memory of sim:0")
		got := r.Counters(0)
		want := Counters{FromHost: Traffic{1, 16}, OnDevice: Traffic{1, 8}, Zeroed: Traffic{1, 16}, ToPeer: Traffic{1, 16},
			Allocs: 2, LiveAllocs: 2, LiveBytes: 32, PeakBytes: 32, Syncs: got.Syncs}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestLaunch(t *testing.T) {
	each(t, func(t *testing.T, r rig) {
		x, out := r.put(0, 1, 2, 3, 4, 5, 6), r.put(0, 0, 0, 0)
		c := add(out, x+4, x, 3)
		number := float32(10)
		c.In[1] = ir.View{Ptr: unsafe.Pointer(&number), DType: ir.Float32, Shape: []int{3}, Strides: []int{0}}
		c.In[0].Strides = []int{2}
		check(t, r.Launch(0, 0, c))
		number, c.In[0].Strides[0], c.Space[0] = 99, 1, 1 // all of it was read
		if diff := cmp.Diff([]float32{12, 14, 16}, r.get(0, out, 3)); diff != "" {
			t.Error(diff)
		}
		c = add(out, x, x, 0)
		c.In[0].Addr = 0
		c.Out[0].Addr, c.Out[0].Ptr = 0, unsafe.Pointer(&number) // nothing is there
		check(t, r.Launch(0, 0, c))
		wantError(t, r.Launch(0, 0, add(out, x, x+16, 3)), "operand 1", "12 bytes", "reach past the end")
		wantError(t, r.Launch(1, 0, add(out, x, x, 3)), "result 0", "used on sim:1", "memory of sim:0")
		c = add(out, x, x, 3)
		c.In[0] = ir.View{Ptr: unsafe.Pointer(&number), DType: ir.Float32, Shape: []int{3}, Strides: []int{1}}
		wantError(t, r.Launch(0, 0, c), "operand 0", "host memory")
		c.Out[0] = ir.View{Ptr: unsafe.Pointer(&number), DType: ir.Float32}
		wantError(t, r.Launch(0, 0, c), "result 0 is in host memory")
		if n := r.Counters(0).Launches; n != 2 {
			t.Errorf("%d launches counted, want 2", n)
		}
	})
}

func TestPeerAccess(t *testing.T) {
	oneWay := func(dev, peer int) bool { return dev < peer }
	r := rig{New(Config{Devices: 3, Peer: oneWay}), t}
	if r.CanAccessPeer(0, 0) || !r.CanAccessPeer(0, 2) || r.CanAccessPeer(2, 0) || r.CanAccessPeer(0, 3) {
		t.Error("the peer matrix is not Config.Peer")
	}
	x, y, out := r.put(0, 1, 2), r.put(1, 10, 20), r.put(0, 0, 0)
	wantError(t, r.Launch(0, 0, add(out, x, y, 2)), "operand 1", "used on sim:0", "memory of sim:1")
	wantError(t, r.EnablePeerAccess(1, 0), "sim:1 cannot access the memory of sim:0")
	check(t, r.EnablePeerAccess(0, 1))
	check(t, r.EnablePeerAccess(0, 1))
	check(t, r.Launch(0, 0, add(out, x, y, 2)))
	if diff := cmp.Diff([]float32{11, 22}, r.get(0, out, 2)); diff != "" {
		t.Error(diff)
	}
}

// TestStreams holds a stream and sees that others go on, and that events order
// them.
func TestStreams(t *testing.T) {
	r := rig{New(Config{Devices: 2, Async: true}), t}
	ctx := context.Background()
	s1, s2 := r.stream(0), r.stream(1)
	x, peer := r.put(0, 1, 2), r.put(1, 0, 0)
	before, after := r.event(0), r.event(0)
	if done, err := r.EventDone(0, before); !done || err != nil {
		t.Errorf("an event that was never recorded: %t, %v", done, err)
	}
	check(t, r.RecordEvent(0, before, s1))
	release, err := r.Hold(0, s1)
	check(t, err)
	check(t, r.Launch(0, s1, add(x, x, x, 2)))
	check(t, r.RecordEvent(0, after, s1))
	check(t, r.WaitEvent(1, s2, 0, after))
	check(t, r.CopyPeer(0, s1, 1, peer, x, 8))
	check(t, r.SyncEvent(ctx, 0, before))
	for _, c := range []struct {
		dev  int
		s    device.StreamID
		idle bool
	}{{0, s1, false}, {1, s2, false}, {0, 0, true}, {1, 0, true}} {
		if idle, err := r.StreamIdle(c.dev, c.s); idle != c.idle || err != nil {
			t.Errorf("stream %d of device %d: idle %t, %v", c.s, c.dev, idle, err)
		}
	}
	if done, err := r.EventDone(0, after); done || err != nil {
		t.Errorf("an event behind held work: %t, %v", done, err)
	}
	_, err = r.Elapsed(0, before, after)
	wantError(t, err, "is not done")
	short, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	for _, err := range []error{r.SyncStream(short, 0, s1), r.SyncDevice(short, 1), r.SyncEvent(short, 0, after)} {
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a wait with a deadline: %v", err)
		}
	}
	check(t, r.DestroyStream(0, s1)) // its work is still done
	release()
	check(t, r.SyncDevice(ctx, 1))
	if done, err := r.EventDone(0, after); !done || err != nil {
		t.Errorf("after the wait: %t, %v", done, err)
	}
	check(t, r.SyncDevice(ctx, 0))
	if diff := cmp.Diff([]float32{2, 4}, r.get(1, peer, 2)); diff != "" {
		t.Error(diff)
	}
	if d, err := r.Elapsed(0, before, after); d <= 0 || err != nil {
		t.Errorf("Elapsed = %v, %v", d, err)
	}
	_, err = r.StreamIdle(0, s1)
	wantError(t, err, "sim:0 has no stream")
	wantError(t, r.SyncStream(ctx, 0, s2), "used on sim:0", "stream of sim:1")
}

func TestEvents(t *testing.T) {
	r := rig{New(Config{Devices: 2}), t}
	e, untimed := r.event(0), device.EventID(0)
	untimed, err := r.NewEvent(0, false)
	check(t, err)
	_, err = r.Elapsed(0, untimed, e)
	wantError(t, err, "not created with timing")
	_, err = r.Elapsed(0, e, e)
	wantError(t, err, "not recorded")
	check(t, r.WaitEvent(1, 0, 0, e))
	check(t, r.SyncEvent(context.Background(), 0, e))
	check(t, r.RecordEvent(0, e, 0))
	if d, err := r.Elapsed(0, e, e); d != 0 || err != nil {
		t.Errorf("Elapsed = %v, %v", d, err)
	}
	wantError(t, r.RecordEvent(1, e, 0), "used on sim:1", "event of sim:0")
	if n := r.Counters(0).LiveEvents; n != 2 {
		t.Errorf("%d live events, want 2", n)
	}
	check(t, r.DestroyEvent(0, e))
	wantError(t, r.DestroyEvent(0, e), "no event")
	wantError(t, r.DestroyStream(0, 0), "default stream")
	_, err = r.Hold(0, 0)
	wantError(t, err, "synchronous")
}

func TestPriorities(t *testing.T) {
	d := New(Config{Devices: 2})
	low, high := d.PriorityRange(1)
	if low <= high {
		t.Errorf("priorities from %d to %d", low, high)
	}
	for _, c := range []struct{ asked, got int }{{0, 0}, {-1, -1}, {low + 1, low}, {high - 1, high}} {
		s, err := d.NewStream(1, c.asked)
		check(t, err)
		if got, err := d.Priority(1, s); got != c.got || err != nil {
			t.Errorf("priority %d gives %d, %v; want %d", c.asked, got, err, c.got)
		}
	}
	_, err := d.Priority(0, 99)
	wantError(t, err, "no stream 99")
}

func TestFaults(t *testing.T) {
	broken := errors.New("broken")
	each(t, func(t *testing.T, r rig) {
		ctx := context.Background()
		x := r.put(0, 1, 2)
		for _, f := range []struct {
			kind Fault
			try  func() error
		}{
			{FaultAlloc, func() error { _, err := r.Alloc(0, 8); return err }},
			{FaultCopy, func() error { return r.CopyOnDevice(0, 0, x, x, 8) }},
			{FaultLaunch, func() error { return r.Launch(0, 0, add(x, x, x, 2)) }},
			{FaultExecute, func() error {
				return errors.Join(r.Launch(0, 0, add(x, x, x, 2)), r.SyncStream(ctx, 0, 0), r.StreamFault(0, 0))
			}},
		} {
			check(t, r.Fail(0, f.kind, 2, broken))
			for i, want := range []error{nil, broken, nil} {
				if err := f.try(); !errors.Is(err, want) {
					t.Errorf("fault %d, operation %d: %v, want %v", f.kind, i, err, want)
				}
			}
		}
		wantError(t, r.Fail(0, FaultAlloc, 0, broken), "sim:0")
	})
}

// TestLateErrors sees that the error of a kernel is told after a wait for its
// stream, once, and to nobody else.
func TestLateErrors(t *testing.T) {
	r := rig{New(Config{Devices: 2, Async: true}), t}
	ctx := context.Background()
	x, s := r.put(0, 1, 2), r.stream(0)
	wrong := add(x, x, x, 2)
	wrong.Kernel = (&ir.Op{Name: "broken", Kind: ir.Elementwise, In: addOp.In, Bodies: []ir.Body{{Exprs: []string{"x + oops"}}}}).Kernel(0, ir.Float32)
	for _, c := range []struct {
		name  string
		fault func() error
	}{
		{"of the stream", func() error { return r.StreamFault(0, s) }},
		{"of the device", func() error { return r.DeviceFault(0) }},
	} {
		check(t, r.Launch(0, s, wrong))
		check(t, r.Launch(0, s, add(x, x, x, 2)))
		check(t, r.SyncStream(ctx, 0, s))
		check(t, r.Launch(0, 0, add(x, x, x, 2)))
		check(t, errors.Join(r.SyncDevice(ctx, 0), r.StreamFault(0, 0), r.DeviceFault(1)))
		wantError(t, c.fault(), "sim:0", "oops", "in flight on stream 0x1: broken, add")
		check(t, errors.Join(r.StreamFault(0, s), r.DeviceFault(0)))
	}
	check(t, r.Launch(0, s, wrong))
	check(t, r.DestroyStream(0, s))
	check(t, r.SyncDevice(ctx, 0))
	wantError(t, r.DeviceFault(0), "oops")
	check(t, r.DeviceFault(0))
}

// TestLost loses a device under its work: nothing hangs, every later call says why,
// and the other device goes on.
func TestLost(t *testing.T) {
	each(t, func(t *testing.T, r rig) {
		ctx, broken := context.Background(), errors.New("fell off the bus")
		x, y := r.put(0, 1, 2), r.put(1, 3, 4)
		s, e := r.stream(0), r.event(0)
		check(t, r.Fail(0, FaultLost, 2, broken))
		first := r.Launch(0, s, add(x, x, x, 2))
		at := r.Launch(0, s, add(x, x, x, 2))
		check(t, first)
		_ = r.RecordEvent(0, e, s)
		_ = r.WaitEvent(1, 0, 0, e)
		wait := r.SyncDevice(ctx, 0)
		_, alloc := r.Alloc(0, 8)
		for what, err := range map[string]error{"wait": wait, "alloc": alloc, "free": r.Free(0, device.Memory{Addr: x, Bytes: 8}),
			"launch": r.Launch(0, 0, add(x, x, x, 2)), "event": r.SyncEvent(ctx, 0, e), "fault": r.DeviceFault(0)} {
			if !errors.Is(err, device.ErrLost) || !errors.Is(err, broken) {
				t.Errorf("%s: %v", what, err)
			}
			wantError(t, err, "sim:0", "in flight on stream 0x1: add, add")
		}
		if r.config.Async {
			check(t, at)
		}
		check(t, r.Launch(1, 0, add(y, y, y, 2)))
		if diff := cmp.Diff([]float32{6, 8}, r.get(1, y, 2)); diff != "" {
			t.Error(diff)
		}
	})
}

// TestGoroutines lets many goroutines use streams of their own at once.
func TestGoroutines(t *testing.T) {
	each(t, func(t *testing.T, r rig) {
		r.config.Delay = 0
		var wg sync.WaitGroup
		for i := range 32 {
			wg.Go(func() {
				dev, ctx := i%2, context.Background()
				s, err := r.NewStream(dev, 0)
				m, allocErr := r.Alloc(dev, 8)
				values := []float32{float32(i), 1}
				p := unsafe.Pointer(&values[0])
				err = errors.Join(err, allocErr, r.CopyFromHost(dev, s, m.Addr, p, 8))
				for range 10 {
					err = errors.Join(err, r.Launch(dev, s, add(m.Addr, m.Addr, m.Addr+4, 1)))
				}
				err = errors.Join(err, r.CopyToHost(dev, s, p, m.Addr, 8), r.SyncStream(ctx, dev, s), r.DestroyStream(dev, s), r.Free(dev, m))
				if err != nil || values[0] != float32(i+10) {
					t.Errorf("goroutine %d: %v, %v", i, values, err)
				}
			})
		}
		wg.Wait()
		for dev := range 2 {
			if c := r.Counters(dev); c.LiveAllocs != 0 || c.LiveBytes != 0 || c.LiveStreams != 0 || c.Launches != 160 {
				t.Errorf("device %d: %+v", dev, c)
			}
		}
	})
}

// TestWordsOfLostDevice: a stream that waits for a word ends as its device is lost.
func TestWordsOfLostDevice(t *testing.T) {
	r := rig{New(Config{Devices: 1, Async: true}), t}
	x, s := r.put(0, 0, 0), r.stream(0)
	check(t, r.AwaitWord(0, s, new(atomic.Uint32), 1))
	on := r.devices[0]
	all := r.streamsOf(on)
	check(t, r.Fail(0, FaultLost, 1, errors.New("it fell off the bus")))
	check(t, r.Launch(0, 0, add(x+4, x+4, x+4, 1)))
	for _, s := range all {
		check(t, s.wait(context.Background()))
	}
	if err := on.usable(); !errors.Is(err, device.ErrLost) {
		t.Error(err)
	}
}

// TestReachNeeded: captured copies to other devices need access, as on GPUs.
func TestReachNeeded(t *testing.T) {
	r := rig{New(Config{Devices: 2, Async: true, Peer: func(dev, _ int) bool { return dev == 0 }}), t}
	at := [2]uint64{r.put(0, 1), r.put(1, 2)}
	for dev, want := range []error{nil, device.ErrUnavailable} {
		check(t, r.CopyPeer(dev, 0, 1-dev, at[1-dev], at[dev], 4))
		check(t, r.SyncStream(context.Background(), dev, 0))
		s := r.stream(dev)
		_, err := r.BeginCapture(dev, s, device.CaptureOptions{})
		check(t, err)
		if err := r.CopyPeer(dev, s, 1-dev, at[1-dev], at[dev], 4); !errors.Is(err, want) {
			t.Errorf("a captured copy by device %d: %v", dev, err)
		}
		_, err = r.EndCapture(dev, s)
		check(t, err)
	}
}

// TestFreedUnderPeer frees memory that another device has yet to copy to, and lets the collector find it: that work goes nowhere, and the program on.
func TestFreedUnderPeer(t *testing.T) {
	r := rig{New(Config{Devices: 2, Async: true}), t}
	x := r.put(0, 1, 2)
	release, err := r.Hold(0, 0)
	check(t, err)
	m, err := r.Alloc(1, device.MapUnit)
	check(t, err)
	check(t, r.CopyPeer(0, 0, 1, m.Addr, x, 8))
	check(t, r.Free(1, m))
	patience.Collect(t)
	release()
	check(t, r.SyncStream(context.Background(), 0, 0))
}
