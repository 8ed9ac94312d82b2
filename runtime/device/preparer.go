package device

import (
	"fmt"

	"github.com/sinter-go/sinter/ir"
)

// A Preparer is a Driver whose launches may need memory beside their operands, which who
// plans many of them gives them. Launch allocates it by itself.
type Preparer interface {
	// Prepare returns how many bytes of scratch memory Enqueue takes for c, 0 for none.
	// It follows from the call and from what its views' addresses are multiples of, so
	// that any addresses that are aligned alike serve. Nothing is enqueued.
	Prepare(dev int, s StreamID, c *ir.Call) (int64, error)
	// Enqueue is Launch in scratch memory of the device, aligned to 512 bytes, of at
	// least as many as Prepare returns. It allocates none. What comes later on s may use
	// the memory.
	Enqueue(dev int, s StreamID, c *ir.Call, scratch Memory) error
}

// Prepare returns how many bytes of scratch memory drv wants for c: 0 where it is no
// Preparer.
func Prepare(drv Driver, dev int, s StreamID, c *ir.Call) (int64, error) {
	if p, ok := drv.(Preparer); ok {
		return p.Prepare(dev, s, c)
	}
	return 0, nil
}

// Enqueue launches c in the scratch memory that Prepare asks for.
func Enqueue(drv Driver, dev int, s StreamID, c *ir.Call, scratch Memory) error {
	if drv == nil || c == nil || c.Kernel == nil {
		return fmt.Errorf("%w: no driver or no call", ErrInvalid)
	}
	if p, ok := drv.(Preparer); ok {
		return p.Enqueue(dev, s, c, scratch)
	}
	return drv.Launch(dev, s, c)
}
