package conformance_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/stream"
)

// A copy within a device is given to the current stream and nobody waits for it.
func TestP24(t *testing.T) {
	d := one(t)
	s := newStream(t, d)
	x := tensor.From([]float32{1, 2, 3}).To(d)
	y := tensor.Zeros([]int{3}, tensor.On(d))
	var c T
	run := func() {
		c = x.Clone()
		must(t, y.CopyFrom(x))
	}
	on(t, s, func() {
		must(t, s.WaitStream(stream.Default(d)))
		warm(t, d, run)
		overwrite(t, y, 0)
		release := hold(t, s)
		run()
		equal(t, "other streams are done", idle(t, stream.Default(d)), true)
		equal(t, "the stream is done", idle(t, s), false)
		release()
		equal(t, "a clone", values(t, c), []float64{1, 2, 3})
		equal(t, "a tensor written", values(t, y), []float64{1, 2, 3})
	})
}

// A copy between two accelerators runs on the source's current stream, after what the
// destination's current stream was given and before what it is given next. The host
// does not wait.
func TestP25(t *testing.T) {
	d := devices(t, 2)
	from, to, aside := newStream(t, d[0]), newStream(t, d[1]), newStream(t, d[0])
	in := func(f func()) { on(t, from, func() { on(t, to, f) }) }
	x := tensor.From([]float32{1, 2}).To(d[0])
	y := tensor.Zeros([]int{2}, tensor.On(d[1]))
	must(t, stream.Synchronize(background, d[0]))
	must(t, stream.Synchronize(background, d[1]))
	warm(t, d[0], func() { in(func() { must(t, y.CopyFrom(x)); overwrite(t, y, 5); overwrite(t, x, 1) }) })
	must(t, to.Synchronize(background))

	release := hold(t, to)
	in(func() {
		overwrite(t, y, 5) // on the held stream: the copy comes after it
		must(t, y.CopyFrom(x))
	})
	equal(t, "done while the destination's stream is held: source's, another of the source",
		[]bool{idle(t, from), idle(t, aside)}, []bool{false, true})
	release()
	in(func() { equal(t, "what was copied after the destination's work", values(t, y), []float64{1, 1}) })

	release = hold(t, from)
	var sum T
	in(func() {
		overwrite(t, x, 3) // on the held stream: the copy takes it along
		must(t, y.CopyFrom(x))
		sum = y.AddScalar(1) // after the copy
	})
	equal(t, "done while the source's stream is held: destination's, its default one",
		[]bool{idle(t, to), idle(t, stream.Default(d[1]))}, []bool{false, true})
	release()
	in(func() { equal(t, "work after the copy", values(t, sum), []float64{4, 4}) })
}

// A copy between host and accelerator that is not told otherwise has been done when
// it returns.
func TestP26(t *testing.T) {
	d := one(t)
	if kind == device.KindSim {
		slow := simulated
		slow.Delay = time.Millisecond // before each copy
		fresh(t, slow)
	}
	s := newStream(t, d)
	for range 3 {
		on(t, s, func() {
			x := tensor.Ones([]int{256}).To(d)
			equal(t, "to the device: the current stream is done", idle(t, s), true)
			y := x.AddScalar(1).To(device.CPU)
			equal(t, "to the host: the current stream is done", idle(t, s), true)
			equal(t, "the elements", values(t, y)[0], 2.0)
			if y.IsPinned() {
				t.Error("a copy that waits has page-locked memory")
			}
		})
	}
}

// A copy that is not to wait leaves page-locked memory alone until it is done: a block
// that is released meanwhile is not given out again. To the host it gives a tensor in
// page-locked memory.
func TestP27(t *testing.T) {
	d := one(t)
	const n = 4096
	s := newStream(t, d)
	pinned := func(v float64) T { return tensor.Full([]int{n}, v).PinMemory(d) }
	var x, back T
	run := func() {
		host := pinned(1)
		x = host.To(d, tensor.NonBlocking())
		host.Release()
		pinned(2) // where the first one was, if that were free
		back = x.To(device.CPU, tensor.NonBlocking())
	}
	on(t, s, func() {
		warm(t, d, run)
		lockPages(t, d, n, 6)
		release := hold(t, s)
		run()
		equal(t, "done", idle(t, s), false)
		equal(t, "the copy to the host is page-locked", back.IsPinned(), true)
		release()
		must(t, s.Synchronize(background))
		for name, got := range map[string]T{"to the device": x, "to the host": back} {
			v := values(t, got)
			equal(t, name, []float64{v[0], v[n-1]}, []float64{1, 1})
		}
	})
}

// A copy that converts does so on the host where it waits, on the accelerator where
// it does not, and between accelerators on the source. The result is the same.
func TestP28(t *testing.T) {
	d := devices(t, 2)
	launches := func() [2]int64 { return [2]int64{} }
	if kind == device.KindSim {
		drv := fresh(t, simulated)
		launches = func() [2]int64 { return [2]int64{drv.Counters(0).Launches, drv.Counters(1).Launches} }
	}
	numbers, want := []float64{1.75, -2.5, 300}, []float64{1, -2, 300}
	host := tensor.From(numbers)
	intsOn := func(on device.Device) T {
		return tensor.Zeros([]int{3}, tensor.On(on), tensor.OfType(tensor.Int32))
	}
	far := host.To(d[0])
	for _, c := range []struct {
		name string
		from T
		to   device.Device
		opts []tensor.Option
		runs [2]bool // the devices that run a kernel
	}{
		{"to the device, waiting", host, d[0], nil, [2]bool{}},
		{"to the device, not waiting", host, d[0], []tensor.Option{tensor.NonBlocking()}, [2]bool{true, false}},
		{"to the host, waiting", far, device.CPU, nil, [2]bool{}},
		{"to the host, not waiting", far, device.CPU, []tensor.Option{tensor.NonBlocking()}, [2]bool{true, false}},
		{"between devices", far, d[1], nil, [2]bool{true, false}},
	} {
		dst := intsOn(c.to)
		before := launches()
		must(t, dst.CopyFrom(c.from, c.opts...))
		after := launches()
		equal(t, c.name, values(t, dst), want)
		if kind == device.KindSim {
			equal(t, c.name+": which device converts", [2]bool{after[0] > before[0], after[1] > before[1]}, c.runs)
		}
	}
}

// Elements that are not next to one another are gathered first where host and
// accelerator exchange them; between accelerators a kernel of the source writes them
// over there, or where it cannot reach, they are gathered, too.
//
// Differs: what To returns has no gaps and is row-major; PyTorch keeps the order of the
// strides of a tensor without gaps.
func TestP29(t *testing.T) {
	d := devices(t, 2)
	matrix := tensor.FromSlice([]float32{1, 2, 3, 4, 5, 6}, []int{2, 3})
	want := []float64{1, 4, 2, 5, 3, 6}
	there := matrix.To(d[0]).Transpose(0, 1)
	for name, got := range map[string]T{
		"to the device": matrix.Transpose(0, 1).To(d[0]), "to the host": there.To(device.CPU), "between devices": there.To(d[1]),
	} {
		equal(t, name, values(t, got), want)
		equal(t, name+": dense", got.IsContiguous(), true)
	}
	strided := tensor.Zeros([]int{2, 3}, tensor.On(d[1])).Transpose(0, 1)
	must(t, strided.CopyFrom(there))
	equal(t, "into elements that are apart", values(t, strided), want)

	if kind != device.KindSim {
		return
	}
	drv := fresh(t, simulated) // 0 reaches 1, and not 3
	x := matrix.To(device.Sim(0)).Transpose(0, 1)
	for peer, want := range map[int]sim.Counters{
		1: {Launches: 1},
		3: {Launches: 1, ToPeer: sim.Traffic{Copies: 1, Bytes: 24}},
	} {
		before := drv.Counters(0)
		must(t, x.To(device.Sim(peer)).Err())
		after := drv.Counters(0)
		got := sim.Counters{Launches: after.Launches - before.Launches, ToPeer: sim.Traffic{
			Copies: after.ToPeer.Copies - before.ToPeer.Copies, Bytes: after.ToPeer.Bytes - before.ToPeer.Bytes}}
		equal(t, fmt.Sprintf("work of device 0 for a copy to %d", peer), got, want)
	}
}

// counting counts how often it is asked about peers.
type counting struct {
	*sim.Driver
	asked, enabled atomic.Int32
}

func (c *counting) CanAccessPeer(dev, peer int) bool {
	c.asked.Add(1)
	return c.Driver.CanAccessPeer(dev, peer)
}

func (c *counting) EnablePeerAccess(dev, peer int) error {
	c.enabled.Add(1)
	return c.Driver.EnablePeerAccess(dev, peer)
}

// Whether one device reaches another is asked once a pair, when a copy first needs
// it, and enabled where it does; that it is enabled already is no error.
func TestP30(t *testing.T) {
	d := devices(t, 2)
	drv, err := device.DriverOf(kind)
	must(t, err)
	if drv.CanAccessPeer(0, 1) {
		must(t, drv.EnablePeerAccess(0, 1))
		must(t, drv.EnablePeerAccess(0, 1))
	}
	equal(t, "a copy", values(t, onesOn(d[0]).To(d[1])), []float64{1, 1})
	if kind != device.KindSim {
		return
	}
	c := &counting{Driver: fresh(t, simulated)}
	device.Install(c)
	copies := func(from, to int) {
		for range 3 {
			equal(t, "a copy", values(t, onesOn(device.Sim(from)).To(device.Sim(to))), []float64{1, 1})
		}
	}
	seen := func(what string, asked, enabled int32) {
		t.Helper()
		equal(t, what+": asked, enabled", [2]int32{c.asked.Load(), c.enabled.Load()}, [2]int32{asked, enabled})
	}
	seen("before the first copy", 0, 0)
	copies(0, 1)
	seen("from 0 to 1", 1, 1)
	copies(1, 0)
	seen("from 1 to 0", 2, 2)
	copies(0, 3)
	seen("from 0 to 3, which it does not reach", 3, 2)
}

// A tensor that is on the device already is returned itself, and nothing is done.
func TestP32(t *testing.T) {
	d := devices(t, 2)
	x := onesOn(d[1])
	host := tensor.From([]float32{1})
	must(t, stream.Synchronize(background, d[1]))
	release := hold(t, stream.Default(d[1])) // a copy would wait
	if x.To(d[1]) != x || host.CPU() != host {
		t.Error("To the tensor's own device is another tensor")
	}
	within(t, d[1], func() {
		if x.To(current()) != x {
			t.Error("To the current device, where the tensor is, is another tensor")
		}
	})
	release()
}
