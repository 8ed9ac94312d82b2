package gpu

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/runtime/device"
)

// wordAPI is a CUDA driver that notes words.
type wordAPI struct {
	*graphAPI
	same int // RegisteredSameAddress
}

func (w wordAPI) DeviceAttribute(_ int, a driver.Attribute) (int, error) {
	if a == driver.RegisteredSameAddress {
		return w.same, nil
	}
	return 9, nil
}

func (w wordAPI) HostRegister(int, unsafe.Pointer, int64, driver.HostFlags) error { return nil }
func (w wordAPI) HostUnregister(int, unsafe.Pointer) error                        { return nil }

func (w wordAPI) MemsetD32Async(_ int, _ driver.Ptr, value uint32, count int64, _ driver.Stream) error {
	return w.note("write %d to %d", value, count)
}

func (w wordAPI) StreamWaitValue32(_ int, _ driver.Stream, _ driver.Ptr, value uint32, flush bool) error {
	return w.note("await %d, %t", value, flush)
}

// TestWordAddresses: words lie in page-locked memory, also in the program's where GPUs find that.
func TestWordAddresses(t *testing.T) {
	for _, same := range []int{0, 1} {
		api := wordAPI{&graphAPI{}, same}
		d := &Driver{open: func() (driver.API, error) { return api, nil }}
		m, err := d.AllocHost(8)
		must(t, err)
		own := make([]atomic.Uint32, 2)
		registered := device.Memory{Host: unsafe.Pointer(&own[0]), Bytes: 8}
		must(t, d.RegisterHost(registered))
		for name, c := range map[string]struct {
			word *atomic.Uint32
			want error
		}{
			"the driver's":      {(*atomic.Uint32)(unsafe.Add(m.Host, 4)), nil},
			"half of it beyond": {(*atomic.Uint32)(unsafe.Add(m.Host, 6)), device.ErrInvalid},
			"not locked":        {new(atomic.Uint32), device.ErrInvalid},
			"nil":               {nil, device.ErrInvalid},
			"locked afterwards": {&own[1], map[int]error{0: device.ErrUnavailable}[same]},
		} {
			for i, err := range []error{d.WriteWord(0, 0, c.word, 1), d.AwaitWord(0, 0, c.word, 1)} {
				if !errors.Is(err, c.want) {
					t.Errorf("%s, call %d, same addresses %d: %v, want %v", name, i, same, err, c.want)
				}
			}
		}
		if want := 2 + 2*same; len(api.log) != want {
			t.Errorf("%d calls of the driver, want %d: %q", len(api.log), want, api.log)
		}
	}
}

// TestWords has recordings of every GPU wait for a word that the host stores, and write one that the
// host reads, again and again.
func TestWords(t *testing.T) {
	d := onGPU(t)
	n, err := d.DeviceCount()
	must(t, err)
	m, err := d.AllocHost(256)
	must(t, err)
	wait, told := (*atomic.Uint32)(m.Host), (*atomic.Uint32)(unsafe.Add(m.Host, 128))
	ctx := context.Background()
	for dev := range n {
		wait.Store(0)
		told.Store(0)
		s, err := d.NewStream(dev, 0)
		must(t, err)
		_, err = d.BeginCapture(dev, s, device.CaptureOptions{})
		must(t, err)
		must(t, errors.Join(d.AwaitWord(dev, s, wait, 1), d.WriteWord(dev, s, wait, 0), d.WriteWord(dev, s, told, 1)))
		r, err := d.EndCapture(dev, s)
		must(t, err)
		for round := range 10 {
			must(t, r.Launch(s))
			if idle, err := d.StreamIdle(dev, s); idle || err != nil {
				t.Errorf("cuda:%d, round %d: idle %t before the word is stored, %v", dev, round, idle, err)
			}
			wait.Store(1)
			must(t, d.SyncStream(ctx, dev, s))
			if w, tell := wait.Load(), told.Swap(0); w != 0 || tell != 1 {
				t.Errorf("cuda:%d, round %d: the words are %d and %d, want 0 and 1", dev, round, w, tell)
			}
		}
		must(t, errors.Join(r.Destroy(), d.DestroyStream(dev, s)))
	}
	must(t, d.FreeHost(m))
}
