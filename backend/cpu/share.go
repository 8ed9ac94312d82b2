package cpu

import (
	"context"
	"fmt"
	"sync"

	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/shm"
)

var _ device.Sharer = (*Driver)(nil)

// shared are the segments that tensors are in, by where they begin.
var shared sync.Map

// AllocShared returns host memory that other processes can open.
func (d *Driver) AllocShared(_ int, bytes int64) (device.Memory, []byte, error) {
	s, err := shm.Create(bytes)
	if err != nil {
		return device.Memory{}, nil, err
	}
	return keepShared(s, bytes), []byte(s.Name), nil
}

// OpenShared opens host memory of another process.
func (d *Driver) OpenShared(handle []byte, bytes int64) (int, device.Memory, error) {
	s, err := shm.Open(string(handle), bytes)
	if err != nil {
		return 0, device.Memory{}, err
	}
	return 0, keepShared(s, bytes), nil
}

func keepShared(s *shm.Segment, bytes int64) device.Memory {
	shared.Store(s.Data, s)
	return device.Memory{Host: s.Data, Bytes: bytes}
}

// FreeShared gives shared memory back.
func (d *Driver) FreeShared(_ int, m device.Memory) error {
	s, ok := shared.LoadAndDelete(m.Host)
	if !ok {
		return fmt.Errorf("%w: memory that is not shared", device.ErrInvalid)
	}
	if err := d.SyncDevice(context.Background(), 0); err != nil {
		return err
	}
	return s.(*shm.Segment).Close()
}
