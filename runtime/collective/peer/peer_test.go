package peer

import (
	"errors"
	"testing"

	"github.com/sinter-go/sinter/runtime/collective"
	"github.com/sinter-go/sinter/runtime/device"
)

// An end is a communicator that only knows its device.
type end struct {
	collective.Communicator
	on     device.Device
	closed int
}

func (e *end) Device() device.Device { return e.on }

func (e *end) Close() error {
	e.closed++
	return errors.New("closing")
}

// TestNewFails has a device of a group not be there: all ends are closed.
func TestNewFails(t *testing.T) {
	ends := []*end{{on: device.CPU}, {on: device.Sim(1000)}}
	out, err := New([]collective.Communicator{ends[0], ends[1]}, Settings{})
	if err == nil || out != nil {
		t.Errorf("New gave %v, %v; want an error", out, err)
	}
	for rank, e := range ends {
		if e.closed != 1 {
			t.Errorf("the end of rank %d was closed %d times", rank, e.closed)
		}
	}
}
