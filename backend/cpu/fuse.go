package cpu

import (
	"github.com/sinter-go/sinter/backend/cpu/exec"
	"github.com/sinter-go/sinter/backend/cpu/fused"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/fusion"
	"github.com/sinter-go/sinter/runtime/device"
)

var _ device.NormFuser = (*Driver)(nil)

// Fuse returns the loops of a region.
func (d *Driver) Fuse(dev int, r *fusion.Region, c *ir.Call) (ir.Code, error) {
	if err := checkDevice(dev); err != nil {
		return ir.Code{}, err
	}
	return fused.Code(r)
}

// Rounds reports that loops of regions round.
func (d *Driver) Rounds() bool { return true }

// RoundsFolds reports that loops of rows round what they fold.
func (d *Driver) RoundsFolds() bool { return true }

// FuseRows returns the function of rows.
func (d *Driver) FuseRows(dev int, r *fusion.Rows) (ir.Code, error) {
	if err := checkDevice(dev); err != nil {
		return ir.Code{}, err
	}
	return fused.Rows(r)
}

// FuseProduct returns the function of a product.
func (d *Driver) FuseProduct(dev int, p *fusion.Product) (ir.Code, error) {
	if err := checkDevice(dev); err != nil {
		return ir.Code{}, err
	}
	return fused.Product(p)
}

// TakesProduct reports whether something follows a convolution, or a product of matrices, whose
// sums of a factor are no quicker with it, and which is of floats of 32 bits or more.
func (d *Driver) TakesProduct(dev int, p *fusion.Product, c *ir.Call) bool {
	return fused.TakesConvolution(p, c) || p.After != nil && p.Of.Op.Tags&ir.TagProduct != 0 && p.Of.DType == p.Of.Compute
}

// FuseFold returns the function of a fold.
func (d *Driver) FuseFold(dev int, f *fusion.Fold) (ir.Code, error) {
	if err := checkDevice(dev); err != nil {
		return ir.Code{}, err
	}
	return fused.Fold(f)
}

// TakesFold reports whether a reduction's loops may be given elements as they are computed.
func (d *Driver) TakesFold(dev int, c *ir.Call) bool { return exec.FoldsComputed(c) }

// FuseNorm returns the function of a norm.
func (d *Driver) FuseNorm(dev int, n *fusion.Norm) (ir.Code, error) {
	if err := checkDevice(dev); err != nil {
		return ir.Code{}, err
	}
	return fused.Norm(n)
}

// TakesNorm reports whether what is summed of a norm is folded block by block.
func (d *Driver) TakesNorm(dev int, n *fusion.Norm, c *ir.Call) bool { return fused.TakesNorm(n, c) }
