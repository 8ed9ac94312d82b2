package gpu

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/fstest"
	"time"
	"unsafe"
	"weak"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/backend/cuda/launch"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/tests/patience"
)

// busyAPI is a CUDA driver whose streams do nothing until they are let.
type busyAPI struct {
	graphAPI
	mu       sync.Mutex
	done     bool
	events   map[driver.Event]driver.Stream
	asked    int
	unloaded []driver.Module
	wrong    []string
}

func (b *busyAPI) EventCreate(int, driver.EventFlags) (driver.Event, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := driver.Event(len(b.events) + 1)
	b.events[e] = 0
	return e, nil
}

func (b *busyAPI) EventRecord(_ int, e driver.Event, s driver.Stream) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events[e] = s
	return nil
}

func (b *busyAPI) EventQuery(_ int, e driver.Event) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked++
	if b.capturing {
		b.wrong = append(b.wrong, "an event was asked for that a capture has")
	}
	return b.done, nil
}

func (b *busyAPI) EventDestroy(_ int, e driver.Event) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.events, e)
	return nil
}

func (b *busyAPI) ModuleUnload(_ int, m driver.Module) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.done {
		b.wrong = append(b.wrong, fmt.Sprintf("module %d was unloaded under work", m))
	}
	b.unloaded = append(b.unloaded, m)
	return nil
}

func (b *busyAPI) StreamDestroy(int, driver.Stream) error { return nil }

// state returns what was unloaded, and whether the streams were asked whether they are done.
func (b *busyAPI) state() ([]driver.Module, int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.unloaded), b.asked
}

// finish has the streams do what they were given, and all that they will be.
func (b *busyAPI) finish() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done = true
}

// Who asks for events does so beside the test: only a capture's own calls say when it is under way.
func (b *busyAPI) StreamBeginCapture(dev int, s driver.Stream) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.graphAPI.StreamBeginCapture(dev, s)
}

func (b *busyAPI) StreamEndCapture(dev int, s driver.Stream) (driver.Graph, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.graphAPI.StreamEndCapture(dev, s)
}

// TestRetire: modules are unloaded when all work of all streams is done that was given before,
// and not while a capture is under way, which would take the events in.
func TestRetire(t *testing.T) {
	api := &busyAPI{events: map[driver.Event]driver.Stream{}}
	d := Over(api)
	_, err := d.DeviceCount()
	must(t, err)
	s, err := d.NewStream(0, 0)
	must(t, err)
	gone, err := d.NewStream(0, 0)
	must(t, err)
	must(t, d.DestroyStream(0, gone))

	d.retire(0, []driver.Module{1, 2})
	if !patience.Until(t, func() bool { _, asked := api.state(); return asked > 1 }) {
		t.Fatal("the streams are not asked")
	}
	d.retire(0, []driver.Module{3})
	api.mu.Lock()
	var on []driver.Stream
	for _, s := range api.events {
		on = append(on, s)
	}
	api.mu.Unlock()
	slices.Sort(on)
	if diff := cmp.Diff([]driver.Stream{0, driver.Stream(s)}, on); diff != "" {
		t.Errorf("streams that are waited for (-want +got):\n%s", diff)
	}
	api.finish()
	unloaded := func(want ...driver.Module) {
		t.Helper()
		patience.Until(t, func() bool { list, _ := api.state(); return len(list) >= len(want) })
		if list, _ := api.state(); !slices.Equal(list, want) {
			t.Errorf("unloaded %v, want %v", list, want)
		}
	}
	unloaded(1, 2, 3)

	_, err = d.BeginCapture(0, s, device.CaptureOptions{})
	must(t, err)
	d.retire(0, []driver.Module{4})
	for range 20 { // it may not ask, however often it comes by
		time.Sleep(time.Millisecond)
	}
	unloaded(1, 2, 3)
	r, err := d.EndCapture(0, s)
	must(t, err)
	unloaded(1, 2, 3, 4)
	must(t, r.Destroy())
	if len(api.wrong) > 0 || len(api.events) > 0 {
		t.Errorf("%v; %d events are left", api.wrong, len(api.events))
	}
}

// dropped is device code that is dropped one day: it adds 1 to one number.
type dropped struct {
	fstest.MapFS
	lease *code.Lease
}

func (s *dropped) Lease() *code.Lease { return s.lease }

// bump returns the kernel of an operator that adds by to a number as often as it is told, and
// whose code is like that of others which add as much.
func bump(by int) *ir.Kernel {
	text := fmt.Sprintf("extern \"C\" __global__ void region_bump(volatile float* p, long long n) { for (long long i = 0; i < n; i++) *p = *p + %d; }\n", by)
	src := &dropped{fstest.MapFS{"region.cu": {Data: []byte(text)}}, code.NewLease()}
	launch := func(g code.GPU, c *ir.Call) error {
		var p driver.Params
		p.Uint64(c.Out[0].Addr)
		p.Int64(c.Attrs[0].Int)
		return g.Launch("region", "region_bump", [3]int{1, 1, 1}, [3]int{1, 1, 1}, 0, p.Bytes())
	}
	op := &ir.Op{
		Name: "bump", Kind: ir.Opaque, Out: []ir.Result{{Name: "out"}}, Attrs: []ir.Attr{{Name: "n", Kind: ir.AttrInt}},
		Code: []ir.Code{{For: "cuda", Of: &code.Kernels{Source: src, Launch: launch}}},
	}
	return op.Kernel(0, ir.Float32)
}

// bumpCall adds to the number at out, n times.
func bumpCall(k *ir.Kernel, out uint64, n int) *ir.Call {
	return &ir.Call{
		Kernel: k, Out: []ir.View{{Addr: out, DType: ir.Float32, Shape: []int{1}, Strides: []int{1}}},
		Attrs: []ir.Value{ir.IntValue(n)}, Scalars: []ir.Scalar{ir.IntScalar(int64(n))},
	}
}

// TestRecordedLease: a recording holds the device code of its kernels until it is destroyed.
func TestRecordedLease(t *testing.T) {
	d := Over(&graphAPI{})
	_, err := d.DeviceCount()
	must(t, err)
	var lease weak.Pointer[code.Lease]
	c := &capture{}
	func() {
		k := bump(1)
		l := launch.LeaseOf(k)
		lease = weak.Make(l)
		c.uses(0, l)
		c.uses(0, l)
		c.uses(1, nil)
	}()
	r, err := c.take(d)
	must(t, err)
	runtime.GC()
	if lease.Value() == nil || len(r.leases) != 1 || len(c.leases) != 0 {
		t.Errorf("the recording holds %d leases, the capture %d", len(r.leases), len(c.leases))
	}
	must(t, r.Destroy())
	if !patience.Until(t, func() bool { runtime.GC(); return lease.Value() == nil }) {
		t.Error("the device code stays when the recording is destroyed")
	}
	runtime.KeepAlive(r)
}

// TestLeaseAbroad: device code that a stream of other code was given, by a call or in a
// recording, stays, since nobody knows when that stream is done. That of own streams goes.
func TestLeaseAbroad(t *testing.T) {
	d := Over(&graphAPI{})
	_, err := d.DeviceCount()
	must(t, err)
	own, err := d.NewStream(0, 0)
	must(t, err)
	const abroad = device.StreamID(0xab0ad)
	var leases [2][2]weak.Pointer[code.Lease]
	for i, s := range []device.StreamID{own, abroad} {
		func() {
			k := bump(1)
			leases[i][0] = weak.Make(launch.LeaseOf(k))
			must(t, d.gpus[0].note(0, s, bumpCall(k, 0, 1)))
			l := code.NewLease()
			leases[i][1] = weak.Make(l)
			r := &recording{d: d, exec: 1, leases: []*code.Lease{l}}
			must(t, r.Launch(s))
			must(t, r.Destroy())
		}()
	}
	if !patience.Until(t, func() bool { runtime.GC(); return leases[0][0].Value() == nil && leases[0][1].Value() == nil }) {
		t.Error("the device code of own streams stays")
	}
	if leases[1][0].Value() == nil || leases[1][1].Value() == nil {
		t.Error("device code goes that a stream of other code may be using")
	}
	runtime.KeepAlive(d)
}

// counted counts the modules of a driver.
type counted struct {
	driver.API
	mu     sync.Mutex
	loads  int
	loaded int // and not unloaded
}

func (c *counted) ModuleLoad(dev int, image []byte) (driver.Module, error) {
	m, err := c.API.ModuleLoad(dev, image)
	if err == nil {
		c.count(1, 1)
	}
	return m, err
}

func (c *counted) ModuleUnload(dev int, m driver.Module) error {
	err := c.API.ModuleUnload(dev, m)
	if err == nil {
		c.count(0, -1)
	}
	return err
}

func (c *counted) count(loads, loaded int) (int, int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.loads, c.loaded = c.loads+loads, c.loaded+loaded
	return c.loads, c.loaded
}

// TestUnload: thousands of operators with device code of their own are launched and dropped
// while their work is under way, by calls and in recordings. All of it is done, and then none
// of their modules is left. Memory of the device is only told: other processes use it, too.
func TestUnload(t *testing.T) {
	real, err := driver.Open()
	if err != nil {
		t.Skip(err)
	}
	api := &counted{API: real}
	d := Over(api)
	if n, err := d.DeviceCount(); n == 0 {
		t.Skip(err)
	}
	m, err := d.Alloc(0, 512)
	must(t, err)
	var streams []device.StreamID
	for range 4 {
		s, err := d.NewStream(0, 0)
		must(t, err)
		streams = append(streams, s)
	}
	must(t, d.Zero(0, 0, m, 512))
	must(t, d.SyncDevice(t.Context(), 0))
	left := func() int {
		runtime.GC()
		_, n := api.count(0, 0)
		return n
	}
	for i := range streams { // one of each kind, which loads what stays
		must(t, d.Launch(0, streams[i], bumpCall(bump(i+1), m.Addr+uint64(4*i), 1)))
	}
	patience.Until(t, func() bool { return left() == 0 })
	free, _, err := d.MemoryInfo(0)
	must(t, err)

	const rounds, often = 2500, 2000
	want := make([]float32, len(streams))
	for i := range want {
		want[i] = float32(i + 1)
	}
	for round := range rounds {
		i := round % len(streams)
		at, n := m.Addr+uint64(4*i), 1
		if round%50 == 0 {
			n = often // is under way when its operator is dropped
		}
		if round%10 != 0 {
			must(t, d.Launch(0, streams[i], bumpCall(bump(i+1), at, n)))
			want[i] += float32(n * (i + 1))
			continue
		}
		r := record(t, d, device.CaptureOptions{}, func(s device.StreamID) { must(t, d.Launch(0, s, bumpCall(bump(i+1), at, n))) })
		runtime.GC() // finds the operator, whose code the recording holds
		for range 2 {
			must(t, r.Launch(streams[i]))
			want[i] += float32(n * (i + 1))
		}
		must(t, r.Destroy())
	}
	none := patience.Until(t, func() bool { return left() == 0 })
	must(t, d.SyncDevice(t.Context(), 0))
	got := make([]float32, len(streams))
	must(t, d.CopyToHost(0, 0, unsafe.Pointer(&got[0]), m.Addr, int64(4*len(got))))
	must(t, d.SyncDevice(t.Context(), 0))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sums (-want +got):\n%s", diff)
	}
	now, _, err := d.MemoryInfo(0)
	must(t, err)
	loads, _ := api.count(0, 0)
	t.Logf("%d modules loaded, %d left; %d bytes of the device's memory more in use", loads, left(), free-now)
	if !none || loads < rounds {
		t.Errorf("%d modules of %d are left", left(), loads)
	}
	must(t, d.Free(0, m))
}
