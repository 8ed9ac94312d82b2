package memory

import (
	"errors"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory/host"
)

// hostDriver provides host memory and nothing else.
type hostDriver struct{ device.Driver }

func (hostDriver) Alloc(_ int, bytes int64) (device.Memory, error) {
	data := make([]byte, bytes)
	return device.Memory{Host: unsafe.Pointer(&data[0]), Bytes: bytes}, nil
}

func (d hostDriver) AllocHost(bytes int64) (device.Memory, error) { return d.Alloc(0, bytes) }
func (hostDriver) FreeHost(device.Memory) error                   { return nil }

// TestHostBlocks: what Alloc lends of the host comes back to be lent again.
func TestHostBlocks(t *testing.T) {
	host.Empty()
	a, err := Alloc(device.CPU, hostDriver{}, 0, 100_000)
	if err != nil || a.Bytes < 100_000 {
		t.Fatalf("%+v, %v", a, err)
	}
	p := a.Host
	if err := a.Free(); err != nil {
		t.Fatal(err)
	}
	if err := a.Free(); !errors.Is(err, ErrFreed) {
		t.Errorf("freed twice: %v", err)
	}
	b, err := Alloc(device.CPU, hostDriver{}, 0, a.Bytes)
	if err != nil || b.Host != p {
		t.Errorf("not the block that was given back: %v", err)
	}
	if err := b.Free(); err != nil {
		t.Fatal(err)
	}
	if err := EmptyCache(device.CPU); err != nil {
		t.Fatal(err)
	}
	c, err := Alloc(device.CPU, hostDriver{}, 0, a.Bytes)
	if err != nil || c.Host == p {
		t.Errorf("a block that was emptied is lent: %v", err)
	}
}

// TestTemporaries: temporaries of the host are lent again, to temporaries alone, and many of them
// are what tensors get.
func TestTemporaries(t *testing.T) {
	host.Empty()
	for _, bytes := range []int64{1, 100_000, mostOutside} {
		a, err := AllocTemporaries(device.CPU, hostDriver{}, 0, bytes)
		if err != nil || a.Bytes < bytes {
			t.Fatalf("%d bytes: %+v, %v", bytes, a, err)
		}
		unsafe.Slice((*byte)(a.Host), bytes)[bytes-1] = 1
		p := a.Host
		if err := a.Free(); err != nil {
			t.Fatal(err)
		}
		if err := a.Free(); !errors.Is(err, ErrFreed) {
			t.Errorf("%d bytes freed twice: %v", bytes, err)
		}
		if b, err := Alloc(device.CPU, hostDriver{}, 0, bytes); err != nil || b.Host == p {
			t.Errorf("%d bytes: a tensor got the memory of temporaries, %v", bytes, err)
		}
		if b, err := AllocTemporaries(device.CPU, hostDriver{}, 0, bytes); err != nil || b.Host != p {
			t.Errorf("%d bytes: not the block that was given back: %v", bytes, err)
		}
	}
	large, err := AllocTemporaries(device.CPU, hostDriver{}, 0, mostOutside+1)
	if err != nil {
		t.Fatal(err)
	}
	p := large.Host
	if err := large.Free(); err != nil {
		t.Fatal(err)
	}
	if b, err := Alloc(device.CPU, hostDriver{}, 0, mostOutside+1); err != nil || b.Host != p {
		t.Errorf("large temporaries are not what tensors get: %v", err)
	}
}
