package sim_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/tests/patience"
)

// words returns n words, all 0, in memory of a driver's AllocHost.
func words(t testing.TB, drv device.Driver, n int) []atomic.Uint32 {
	t.Helper()
	m, err := drv.AllocHost(int64(4 * n))
	if err != nil {
		t.Fatal(err)
	}
	list := unsafe.Slice((*atomic.Uint32)(m.Host), n)
	for i := range list {
		list[i].Store(0)
	}
	return list
}

// TestWords has recordings of two devices wait for one another by words, in launches that are
// given in any order, and sees that words are checked.
func TestWords(t *testing.T) {
	drv := sim.New(sim.Config{Devices: 2, Async: true})
	var streams [2]device.StreamID
	var err error
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	word := words(t, drv, 4) // two of each device
	var recorded [2]device.Recording
	for d := range 2 {
		streams[d], err = drv.NewStream(d, 0)
		must(err)
		s, own, other := streams[d], word[2*d:], word[2*(1-d):]
		_, err := drv.BeginCapture(d, s, device.CaptureOptions{})
		must(err)
		for range 2 { // there and back, which each waits for
			for k := range 2 {
				must(drv.WriteWord(d, s, &other[k], 1))
				must(drv.AwaitWord(d, s, &own[k], 1))
				must(drv.WriteWord(d, s, &own[k], 0))
			}
		}
		recorded[d], err = drv.EndCapture(d, s)
		must(err)
	}
	for range 10 {
		must(recorded[0].Launch(streams[0]))
	}
	if idle, err := drv.StreamIdle(0, streams[0]); idle || err != nil {
		t.Errorf("a recording that waits for another one: idle %v, %v", idle, err)
	}
	for range 10 {
		must(recorded[1].Launch(streams[1]))
	}
	for d := range 2 {
		must(drv.SyncStream(context.Background(), d, streams[d]))
	}
	for what, err := range map[string]error{
		"write no word":        drv.WriteWord(0, streams[0], nil, 1),
		"await no word":        drv.AwaitWord(0, streams[0], nil, 1),
		"a device that is not": drv.WriteWord(2, streams[0], &word[0], 1),
		"another's stream":     drv.AwaitWord(1, streams[0], &word[0], 1),
	} {
		if err == nil {
			t.Errorf("%s: no error", what)
		}
	}
}

// TestQueues has streams share a queue: what one is given waits for what another was given before,
// so a word that a stream writes does not end a wait that was given to the queue before. What the host
// stores does. A wait for a stream is not for what others were given later.
func TestQueues(t *testing.T) {
	for _, queues := range []int{0, 1, 2} {
		drv := sim.New(sim.Config{Devices: 1, Async: true, Queues: queues})
		var on []device.StreamID // the default stream's queue has every second of two
		for range 2 {
			s, err := drv.NewStream(0, 0)
			if err != nil {
				t.Fatal(err)
			}
			on = append(on, s)
		}
		word := words(t, drv, 3)
		if err := errors.Join(drv.WriteWord(0, on[1], &word[2], 1), drv.AwaitWord(0, 0, &word[0], 1),
			drv.SyncStream(context.Background(), 0, on[1])); err != nil {
			t.Fatal(err)
		}
		err := errors.Join(drv.WriteWord(0, on[0], &word[1], 1), drv.WriteWord(0, on[1], &word[0], 1))
		shared := queues == 1 || queues == 2
		wait := patience.Left(t)
		if shared { // for a wait that ends to show
			wait = 20 * time.Millisecond
		}
		ctx, cancel := context.WithTimeout(context.Background(), wait)
		sync := drv.SyncStream(ctx, 0, 0)
		cancel()
		if held := errors.Is(sync, context.DeadlineExceeded); err != nil || held != shared {
			t.Errorf("%d queues: the wait ended with %v, %v", queues, sync, err)
		}
		word[0].Store(1)
		if err := drv.SyncDevice(context.Background(), 0); err != nil || word[1].Load() != 1 {
			t.Errorf("%d queues: %v, the word behind the wait is %d", queues, err, word[1].Load())
		}
	}
}

// TestWordsEnded has the host end, in vain, the waits of a recording and of a stream: both streams go on, and
// fail of nothing.
func TestWordsEnded(t *testing.T) {
	drv := sim.New(sim.Config{Devices: 1, Async: true})
	word := words(t, drv, 2)
	s, err := drv.NewStream(0, 0)
	_, begun := drv.BeginCapture(0, s, device.CaptureOptions{})
	if err := errors.Join(err, begun, drv.AwaitWord(0, s, &word[0], 1), drv.WriteWord(0, s, &word[0], 0)); err != nil {
		t.Fatal(err)
	}
	recorded, err := drv.EndCapture(0, s)
	if err := errors.Join(err, recorded.Launch(s), recorded.Launch(s), drv.AwaitWord(0, 0, &word[1], 1)); err != nil {
		t.Fatal(err)
	}
	var idle bool
	if !patience.Until(t, func() bool {
		for k := range word {
			word[k].Store(device.WordEnded)
		}
		idle, err = drv.StreamIdle(0, s)
		return idle || err != nil
	}) || err != nil {
		t.Errorf("the stream is idle %v, %v", idle, err)
	}
	if err := errors.Join(drv.SyncDevice(context.Background(), 0), drv.DeviceFault(0)); err != nil {
		t.Error(err)
	}
}
