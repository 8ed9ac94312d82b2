package gpu

import (
	"fmt"

	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/fused"
	"github.com/sinter-go/sinter/backend/cuda/opaque"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/fusion"
	"github.com/sinter-go/sinter/runtime/device"
)

var (
	_ device.Fuser    = (*Driver)(nil)
	_ device.Arranger = (*Driver)(nil)
)

// Fuse compiles a region for the device, or finds what was compiled before: the kernel for
// the call's layouts, while others are compiled when they are first launched. The error says
// why it cannot: there is no compiler, where its members have code that was compiled ahead.
func (d *Driver) Fuse(dev int, r *fusion.Region, c *ir.Call) (ir.Code, error) {
	if _, err := d.use(dev); err != nil {
		return ir.Code{}, err
	}
	if err := d.prepare(dev); err != nil {
		return ir.Code{}, err
	}
	k, err := fused.Kernels(r)
	if err == nil {
		loop := fused.Loop(c)
		_, err = d.loader.Function(dev, k.Source, k.Module+loop, k.Symbol+"_"+r.Kernel.DType.String()+loop)
	}
	if err != nil {
		return ir.Code{}, fmt.Errorf("cuda:%d: %w", dev, err)
	}
	return ir.Code{For: device.KindCUDA.String(), Of: k}, nil
}

// Rounds reports that the code of regions rounds.
func (d *Driver) Rounds() bool { return true }

// RoundsFolds reports that folds of 16 bits are launched by themselves.
func (d *Driver) RoundsFolds() bool { return false }

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

// FuseProduct returns the launch of a product where a library computes what is with it in
// the same kernel, or else compiles the kernel of a small one.
func (d *Driver) FuseProduct(dev int, p *fusion.Product) (ir.Code, error) {
	if _, err := d.use(dev); err != nil {
		return ir.Code{}, err
	}
	if launch := opaque.Product(p); launch != nil {
		return ir.Code{For: device.KindCUDA.String(), Of: &code.Kernels{Launch: launch}}, nil
	}
	if err := d.prepare(dev); err != nil {
		return ir.Code{}, err
	}
	k, err := fused.Product(p)
	if err == nil {
		_, err = d.loader.Function(dev, k.Source, k.Module, k.Symbol)
	}
	if err != nil {
		return ir.Code{}, fmt.Errorf("cuda:%d: %w", dev, err)
	}
	return ir.Code{For: device.KindCUDA.String(), Of: k}, nil
}

// TakesProduct reports whether a library computes a product with what is with it, or it is
// small.
func (d *Driver) TakesProduct(dev int, p *fusion.Product, c *ir.Call) bool {
	return opaque.TakesProduct(p, c) || fused.Takes(p, c)
}

// FuseFold has nothing: no device takes folds.
func (d *Driver) FuseFold(dev int, f *fusion.Fold) (ir.Code, error) {
	return ir.Code{}, fmt.Errorf("cuda:%d: folds of %s are launched by themselves", dev, f.Of.Op.Name)
}

// TakesFold reports that reductions are launched by themselves.
func (d *Driver) TakesFold(dev int, c *ir.Call) bool { return false }

// ChannelsLast returns what a library copies for a convolution or a gradient of one.
func (d *Driver) ChannelsLast(_ int, c *ir.Call) (bytes int64, ok bool) {
	return opaque.ChannelsLast(c)
}
