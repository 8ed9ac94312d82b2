package sim

import (
	"fmt"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
)

var _ device.HostCaller = (*Driver)(nil)

// CallHost has f called in stream order with the views in the host memory that stands
// for the device's.
func (d *Driver) CallHost(dev int, s device.StreamID, op *ir.Op, views []ir.View, f func(host []ir.View) error) error {
	a, on, err := d.stream(dev, s)
	if err != nil {
		return err
	}
	if op == nil || f == nil {
		return fmt.Errorf("%s: a call of the host without an operator's name or without a function", a)
	}
	host := make([]ir.View, len(views))
	for i, v := range views {
		if v.Ptr != nil && v.NumElements() > 0 {
			return fmt.Errorf("%s: %s: view %d is in host memory", a, op.Name, i)
		}
		if host[i], err = a.view(v); err != nil {
			return fmt.Errorf("%s: view %d: %w", op.Name, i, err)
		}
	}
	return a.enqueue(on, op, func() error { return f(host) })
}
