package library

import (
	"fmt"

	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/driver"
)

// A GPU is what libraries need to know of where a call runs, beyond what kernels
// do: their own calls go to the device's context and to the stream.
type GPU interface {
	code.GPU
	Device() int
	Stream() driver.Stream
	API() driver.API
	// Keep returns device memory for work on the stream alone, which stays until
	// release gives it back.
	Keep(bytes int64) (addr uint64, release func() error, err error)
	// Recording reports whether work on the device is being recorded, or planned, to run
	// when what Keep returned may have been given back.
	Recording() bool
	// Due reports whether the next piece of work is to be enqueued, and must be asked
	// before each: where what a call needs is only counted, it is not.
	Due() bool
}

// Located returns err, of a call of a library, with the name of its device.
func Located(dev int, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("cuda:%d: %w", dev, err)
}
