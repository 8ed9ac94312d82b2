package sim_test

import (
	"context"
	"testing"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/runtime/device"
)

// TestWords has recordings of two devices wait for one another by words, in launches that are
// given in any order, and sees that words are checked.
func TestWords(t *testing.T) {
	drv := sim.New(sim.Config{Devices: 2, Async: true})
	var words [2]device.Memory
	var streams [2]device.StreamID
	var err error
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for d := range 2 {
		words[d], err = drv.Alloc(d, 64)
		must(err)
		streams[d], err = drv.NewStream(d, 0)
		must(err)
		must(drv.Zero(d, streams[d], words[d], 64))
		must(drv.SyncStream(context.Background(), d, streams[d]))
	}
	var recorded [2]device.Recording
	for d := range 2 {
		s, other := streams[d], 1-d
		_, err := drv.BeginCapture(d, s, device.CaptureOptions{})
		must(err)
		for range 2 { // there and back, which each waits for
			must(drv.WriteWord(d, s, other, words[other].Addr, 1))
			must(drv.AwaitWord(d, s, words[d].Addr, 1))
			must(drv.WriteWord(d, s, d, words[d].Addr, 0))
			must(drv.WriteWord(d, s, other, words[other].Addr+4, 1))
			must(drv.AwaitWord(d, s, words[d].Addr+4, 1))
			must(drv.WriteWord(d, s, d, words[d].Addr+4, 0))
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
		"an odd address":          drv.WriteWord(0, streams[0], 1, words[1].Addr+2, 1),
		"no memory":               drv.AwaitWord(0, streams[0], 64, 1),
		"another device's":        drv.AwaitWord(0, streams[0], words[1].Addr, 1),
		"a device that is not":    drv.WriteWord(0, streams[0], 2, words[1].Addr, 1),
		"beyond the memory's end": drv.AwaitWord(0, streams[0], words[0].Addr+uint64(words[0].Bytes), 1),
	} {
		if err == nil {
			t.Errorf("%s: no error", what)
		}
	}
}
