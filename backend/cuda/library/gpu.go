package library

import (
	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/ir"
)

// A GPU is what libraries need to know of where a call runs, beyond what kernels
// do: their own calls go to the device's context and to the stream.
type GPU interface {
	ir.GPU
	Device() int
	Stream() driver.Stream
	API() driver.API
}
