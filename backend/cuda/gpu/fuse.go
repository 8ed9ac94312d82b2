package gpu

import (
	"fmt"

	"github.com/sinter-go/sinter/backend/cuda/fused"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/fusion"
	"github.com/sinter-go/sinter/runtime/device"
)

var _ device.Fuser = (*Driver)(nil)

// Fuse compiles a region for the device, or finds what was compiled before. The error says
// why it cannot: there is no compiler, where its members have code that was compiled ahead.
func (d *Driver) Fuse(dev int, r *fusion.Region) (ir.Code, error) {
	if _, err := d.use(dev); err != nil {
		return ir.Code{}, err
	}
	if err := d.prepare(dev); err != nil {
		return ir.Code{}, err
	}
	k, err := fused.Kernels(r)
	if err == nil {
		_, err = d.loader.Function(dev, k.Source, k.Module, k.Symbol+"_"+r.Kernel.DType.String())
	}
	if err != nil {
		return ir.Code{}, fmt.Errorf("cuda:%d: %w", dev, err)
	}
	return ir.Code{For: device.KindCUDA.String(), Of: k}, nil
}

// FuseRows is Fuse for what is computed row by row.
func (d *Driver) FuseRows(dev int, r *fusion.Rows) (ir.Code, error) {
	if _, err := d.use(dev); err != nil {
		return ir.Code{}, err
	}
	if err := d.prepare(dev); err != nil {
		return ir.Code{}, err
	}
	k, err := fused.Rows(r)
	if err == nil {
		_, err = d.loader.Function(dev, k.Source, k.Module, fused.RowKernel())
	}
	if err != nil {
		return ir.Code{}, fmt.Errorf("cuda:%d: %w", dev, err)
	}
	return ir.Code{For: device.KindCUDA.String(), Of: k}, nil
}

// FuseProduct returns the launch of a product where a library computes what follows in the
// same kernel.
func (d *Driver) FuseProduct(dev int, p *fusion.Product) (ir.Code, error) {
	if _, err := d.use(dev); err != nil {
		return ir.Code{}, err
	}
	return ir.Code{}, fmt.Errorf("cuda:%d: no library computes it in one kernel", dev)
}
