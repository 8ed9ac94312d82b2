package device

import (
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/fusion"
)

// A Fuser is a Driver that runs several calls as one.
type Fuser interface {
	// Fuse returns what the devices run of a region. The error says why its members are to
	// be given to them one by one. The call is the first of those to come.
	Fuse(dev int, r *fusion.Region, c *ir.Call) (ir.Code, error)
	// Rounds reports whether regions may have floats of 16 bits among their elements, to which
	// what members give is rounded.
	Rounds() bool
	// RoundsFolds reports whether FuseRows is worth asking for rows that are folded to floats of 16 bits.
	RoundsFolds() bool
	// FuseRows is Fuse for what is computed row by row.
	FuseRows(dev int, r *fusion.Rows) (ir.Code, error)
	// FuseProduct is Fuse for a matrix product and what follows it.
	FuseProduct(dev int, p *fusion.Product) (ir.Code, error)
	// TakesProduct reports whether FuseProduct is worth asking for a product, by a call of it.
	TakesProduct(dev int, p *fusion.Product, c *ir.Call) bool
	// FuseFold is Fuse for a reduction and what makes its operand.
	FuseFold(dev int, f *fusion.Fold) (ir.Code, error)
	// TakesFold reports whether FuseFold is worth asking for a reduction, by a call of it alone.
	TakesFold(dev int, c *ir.Call) bool
}

// A NormFuser is a Fuser that sums what a norm of channels gives with it.
type NormFuser interface {
	Fuser
	// FuseNorm is Fuse for such a norm.
	FuseNorm(dev int, n *fusion.Norm) (ir.Code, error)
	// TakesNorm reports whether FuseNorm is worth asking for a norm, by a call of it.
	TakesNorm(dev int, n *fusion.Norm, c *ir.Call) bool
}

// An Arranger is a Driver that convolves images however their channels lie in memory.
type Arranger interface {
	// ChannelsLast returns how many bytes a device moves for a convolution or a gradient of one
	// besides, unless the channels of its images are last in memory; ok is false where that is of
	// no use to it. Of a call of ir.TagChannels, ok says that it reads and writes such images as
	// they are.
	ChannelsLast(dev int, c *ir.Call) (bytes int64, ok bool)
}
