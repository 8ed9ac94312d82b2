package conformance_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sinter-go/sinter/backend/cuda"
	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/stream"
)

// Operators are given to the device and return before it has done them: the host
// goes on, and so do other devices.
func TestS24(t *testing.T) {
	d := one(t)
	x := onesOn(d)
	work := func() (y T) {
		y = x
		for range 50 {
			y = y.AddScalar(1)
		}
		return y
	}
	warm(t, d, func() { work() })
	if device.Count(kind) > 1 {
		other := devices(t, 2)[1]
		warm(t, other, func() { values(t, onesOn(other).AddScalar(1)) })
	}
	release := hold(t, stream.Default(d))
	y := work() // returns
	equal(t, "the device is done", idle(t, stream.Default(d)), false)
	equal(t, "work of the host meanwhile", values(t, tensor.Ones([]int{2}).AddScalar(1)), []float64{2, 2})
	if device.Count(kind) > 1 {
		other := devices(t, 2)[1]
		equal(t, "work of another device meanwhile", values(t, onesOn(other).AddScalar(1)), []float64{2, 2})
	}
	release()
	equal(t, "the result", values(t, y), []float64{51, 51})
}

// That does not show in results: work is done in order, and copies between host and
// devices and between devices wait for what they copy.
func TestS25(t *testing.T) {
	d := devices(t, 2)
	program := func() []float64 {
		x := tensor.From([]float32{1, 2, 3}).To(d[0]).MulScalar(10)
		y := x.AddScalar(1).To(d[1]).MulScalar(2)
		must(t, x.CopyFrom(y.SubScalar(1)))
		return values(t, x.Add(y.To(d[0])))
	}
	warm(t, d[0], func() { program() })
	want := []float64{43, 83, 123}
	for range 20 {
		equal(t, "asynchronous", program(), want)
	}
	cuda.SetLaunchBlocking(true)
	defer cuda.SetLaunchBlocking(false)
	equal(t, "synchronous", program(), want)
}

// Where launches block, by CUDA_LAUNCH_BLOCKING=1 in the environment or by a call,
// an operator has been done when it returns.
func TestS26(t *testing.T) {
	d := one(t)
	x := onesOn(d)
	s := newStream(t, d)
	calls := map[string]func(){
		"operator": func() { x.AddScalar(1) }, "factory": func() { tensor.Zeros([]int{2}, tensor.On(d)) },
		"copy": func() { tensor.From([]float32{1}).To(d, tensor.NonBlocking()) },
	}
	must(t, s.WaitStream(stream.Default(d)))
	lockPages(t, d, 1, 2)
	on(t, s, func() {
		for _, call := range calls {
			warm(t, d, call)
		}
		cuda.SetLaunchBlocking(true)
		defer cuda.SetLaunchBlocking(false)
		equal(t, "launches block", cuda.LaunchBlocking(), true)
		for what, call := range calls {
			release := hold(t, s)
			returned := make(chan bool)
			go func() { _ = s.Do(func() error { call(); return nil }); close(returned) }()
			select {
			case <-returned:
				t.Errorf("%s: it returned before it was done", what)
			case <-time.After(2 * time.Millisecond):
			}
			release()
			<-returned
		}
	})
	if os.Getenv("CUDA_LAUNCH_BLOCKING") != "1" && os.Getenv("SINTER_LAUNCH_BLOCKING") != "1" {
		equal(t, "without CUDA_LAUNCH_BLOCKING", cuda.LaunchBlocking(), false)
	}
	equal(t, "with CUDA_LAUNCH_BLOCKING=1", child(t, "blocking", "CUDA_LAUNCH_BLOCKING=1"), "true")
}

// blockingFromTheStart prints whether launches block in a process that did nothing
// about it.
func blockingFromTheStart(t *testing.T) { fmt.Println(cuda.LaunchBlocking()) }

// gatherOutOfRange gives the device an operator that finds an index out of range when
// it runs.
func gatherOutOfRange(d device.Device) (x, index T, call func() T) {
	x = tensor.Arange(0, 10, 1, tensor.On(d), tensor.OfType(tensor.Float32))
	index = tensor.From([]int64{1, 77, 2}).To(d)
	return x, index, func() T { return x.Gather(0, index) }
}

// An error of the device's is found after the call that caused it returned. It comes
// from the next call that waits, with the operators that were in flight; where
// launches block it comes from the operator itself, with the line that called it.
//
// Differs: a kernel that finds wrong values among its operands, such as an index out of
// range, leaves the device usable, and the error is told once, to who waits for the
// kernel's stream or its device. In PyTorch the process has then lost the device.
func TestS27(t *testing.T) {
	d := one(t)
	x, _, gather := gatherOutOfRange(d)
	late := gather()
	must(t, late.Err())
	y := x.AddScalar(1).Sum()
	must(t, y.Err())
	err := stream.Current(d).Synchronize(background)
	fails(t, "the next wait", err, nil, d.String())
	for _, text := range []string{"gather", "77", "10", "in flight on stream 0x0: ", "add", "sum"} {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v does not say %q", err, text)
		}
	}
	must(t, stream.Current(d).Synchronize(background)) // told once
	equal(t, "the operand afterwards", values(t, x)[:3], []float64{0, 1, 2})

	cuda.SetLaunchBlocking(true)
	defer cuda.SetLaunchBlocking(false)
	_, _, gather = gatherOutOfRange(d)
	err = gather().Err()
	if err == nil || !regexp.MustCompile(`async_test\.go:\d+: gather: .*77`).MatchString(err.Error()) {
		t.Errorf("at the operator: %v", err)
	}
	must(t, stream.Current(d).Synchronize(background))
}

// TestFaultsOfStreams: what kernels of one stream find wrong is told to who waits for
// that stream or for the device, and to nobody else: no other stream's waits, no
// allocation.
func TestFaultsOfStreams(t *testing.T) {
	d := one(t)
	bad, good := newStream(t, d), newStream(t, d)
	_, _, gather := gatherOutOfRange(d)
	must(t, stream.Synchronize(background, d))
	for name, wait := range map[string]func() error{
		"the stream": func() error { return bad.Synchronize(background) },
		"the device": func() error { return stream.Synchronize(background, d) },
		"an event of the stream": func() error {
			e, err := bad.RecordEvent(nil)
			must(t, err)
			return e.Synchronize(background)
		},
		"a copy on the stream": func() (err error) {
			on(t, bad, func() { _, err = onesOn(d).Bytes() })
			return err
		},
	} {
		on(t, bad, func() { must(t, gather().Err()) })
		on(t, good, func() {
			equal(t, "values of another stream", values(t, onesOn(d).AddScalar(1)), []float64{2, 2})
			must(t, good.Synchronize(background))
			must(t, tensor.Empty([]int{1 << 20}, tensor.On(d)).Err())
		})
		must(t, stream.Default(d).Synchronize(background))
		must(t, cuda.EmptyCache())
		err := wait()
		if err == nil || !strings.Contains(err.Error(), "77") || !strings.Contains(err.Error(), fmt.Sprintf("in flight on stream %#x: ", uint64(bad.ID()))) {
			t.Errorf("%s: %v", name, err)
		}
		must(t, stream.Synchronize(background, d))
	}
}

// The clock around calls that do not wait measures how long it takes to give the
// work to the device; waiting first, or events, measure the work.
func TestS28(t *testing.T) {
	d := one(t)
	const held = 20 * time.Millisecond
	x := onesOn(d)
	work := func() { x.AddScalar(1) }
	warm(t, d, work)
	start, end := stream.NewTimingEvent(), stream.NewTimingEvent()
	began := time.Now()
	must(t, start.Record(stream.Default(d)))
	must(t, start.Synchronize(background)) // or its time is one of the pause
	release := hold(t, stream.Default(d))
	work()
	must(t, end.Record(stream.Default(d)))
	given := time.Since(began)
	time.AfterFunc(held, release)
	must(t, stream.Default(d).Synchronize(background))
	done := time.Since(began)
	took, err := start.Elapsed(end)
	must(t, err)
	if given > done-held/2 || took < held/2 {
		t.Errorf("giving the work took %v, with waiting %v, by events %v", given, done, took)
	}
}

// Copies between host and device wait unless they are told not to; then they return
// at once where the host memory is page-locked.
func TestS30(t *testing.T) {
	d := one(t)
	host := tensor.From([]float32{1, 2}).PinMemory(d)
	must(t, host.Err())
	x := onesOn(d)
	var up, down T
	run := func() {
		up = host.To(d, tensor.NonBlocking())
		must(t, x.CopyFrom(host, tensor.NonBlocking()))
		down = x.To(device.CPU, tensor.NonBlocking())
	}
	warm(t, d, run)
	lockPages(t, d, 2, 4)
	release := hold(t, stream.Default(d))
	run()
	equal(t, "done", idle(t, stream.Default(d)), false)
	release()
	must(t, stream.Default(d).Synchronize(background))
	for name, got := range map[string]T{"to the device": up, "into a tensor": x, "to the host": down} {
		equal(t, name, values(t, got), []float64{1, 2})
	}
	again := hold(t, stream.Default(d))
	for name, call := range map[string]func(){
		"to the device": func() { host.To(d) }, "to the host": func() { x.To(device.CPU) }, "into a tensor": func() { _ = x.CopyFrom(host) },
	} {
		returned := make(chan bool)
		go func() { call(); close(returned) }()
		select {
		case <-returned:
			t.Errorf("%s: a copy that is to wait returned at once", name)
		case <-time.After(time.Millisecond):
		}
		t.Cleanup(func() { <-returned })
	}
	again()
}

// A debug mode logs or refuses calls that wait for a device without being asked to:
// copies that block, and values that are read.
func TestP22(t *testing.T) {
	d := one(t)
	x := onesOn(d)
	host := tensor.From([]float32{1, 2})
	pinned := host.PinMemory(d)
	calls := map[string]func() error{
		"a value": func() error { _, err := x.Sum().Item(); return err }, "to the host": func() error { return x.CPU().Err() },
		"to the device": func() error { return host.To(d).Err() }, "into a tensor": func() error { return x.CopyFrom(host) },
	}
	allowed := map[string]func() error{
		"without waiting": func() error { return pinned.To(d, tensor.NonBlocking()).Err() }, "an operator": func() error { return x.Add(x).Err() },
		"by name": func() error { return stream.Default(d).Synchronize(background) },
	}
	equal(t, "the mode from the start", cuda.GetSyncDebugMode(), cuda.SyncDebugOff)
	t.Cleanup(func() { must(t, cuda.SetSyncDebugMode(cuda.SyncDebugOff)) })

	must(t, cuda.SetSyncDebugMode(cuda.SyncDebugFail))
	for name, call := range calls {
		fails(t, name, call(), nil, "called a synchronizing operation")
	}
	_ = x.Err() // that of the copy, which has been looked at
	for name, call := range allowed {
		if err := call(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	must(t, cuda.SetSyncDebugMode(cuda.SyncDebugWarn))
	for name, call := range calls {
		if log := logged(func() { must(t, call()) }); !strings.Contains(log, "called a synchronizing operation") || !strings.Contains(log, "async_test.go:") {
			t.Errorf("%s: the log has %q", name, log)
		}
	}
	for name, call := range allowed {
		equal(t, name+": the log", logged(func() { must(t, call()) }), "")
	}
	if err := cuda.SetSyncDebugMode(3); err == nil {
		t.Error("there is a mode 3")
	}
}

// logged returns what f logs.
func logged(f func()) string {
	var text bytes.Buffer
	old := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&text, nil)))
	defer slog.SetDefault(old)
	f()
	return text.String()
}

// TestManyInFlight: of many operators in flight the last are told.
func TestManyInFlight(t *testing.T) {
	drv := fresh(t, sim.Config{Devices: 1, Async: true})
	d := device.Sim(0)
	x := onesOn(d)
	must(t, stream.Synchronize(background, d))
	broken := errors.New("a bit fell over")
	must(t, drv.Fail(0, sim.FaultExecute, 3, broken))
	for range 100 {
		x = x.AddScalar(1)
	}
	err := stream.Synchronize(background, d)
	fails(t, "the wait", err, broken, "sim:0: add: a bit fell over (in flight on stream 0x0: the last 16 of 100: add, ")
	equal(t, "operators told", strings.Count(fmt.Sprint(err), "add"), 17)
}
