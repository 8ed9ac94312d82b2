package opaque

import (
	"fmt"

	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/backend/cuda/space"
	"github.com/sinter-go/sinter/ir"
)

// What pad.cu makes of elements outside x: a value, or what attribute how says from padReflect
// on.
const (
	padConstant = iota
	padReflect
	_ // repeats the edge
	_ // continues at the other end
)

// PadEdges surrounds x with elements of its own. Attributes: padding, the elements to add
// before and after the last axis, then the axis before it, and so on, at most three; how: 0
// mirrors, 1 repeats the edge, and 2 continues at the other end.
func PadEdges(g code.GPU, c *ir.Call) error {
	if c.Out[0].NumElements() == 0 {
		return nil
	}
	x, err := g.Dense(c.In[0], c.Out[0].DType)
	if err != nil {
		return err
	}
	out, err := contiguous(g, c.Out[0], c.Out[0].DType)
	if err != nil {
		return err
	}
	ok, err := padded(g, out.View, x, c.Attrs[0].Ints, padReflect+int(c.Attrs[1].Int), ir.View{})
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("padding %v of shape %v is not implemented on cuda: at most three axes, of planes of less than %d elements", c.Attrs[0].Ints, x.Shape, int64(space.Limit))
	}
	return out.finish(g)
}

// padded surrounds x where a kernel of its own does: both are on the device without gaps, no
// axes but the last three are padded, and a plane of these is less than space.Limit elements.
// It reports whether it did. What does not begin at a vector is made in scratch first, unless
// it is padded with a value, which other kernels do.
func padded(g code.GPU, out, x ir.View, padding []int, how int, value ir.View) (bool, error) {
	if x.Ptr != nil || x.DType != out.DType || x.NumElements() == 0 || !x.IsContiguous() || !out.IsContiguous() {
		return false, nil
	}
	rank, size := len(x.Shape), out.DType.Size()
	var axes driver.Params
	from, to := 1, 1 // elements of planes
	for i := range 3 {
		n, m, before := 1, 1, 0
		if i < rank {
			n, m = x.Shape[rank-1-i], out.Shape[rank-1-i]
		}
		if 2*i < len(padding) {
			before = padding[2*i]
		}
		from, to = from*n, to*m
		if !space.Fits(from) || !space.Fits(to) {
			return false, nil
		}
		space.AppendDivider(&axes, m)
		axes.Int32(int32(n))
		axes.Int32(int32(before))
	}
	for i := 6; i < len(padding); i++ {
		if padding[i] != 0 {
			return false, nil
		}
	}
	planes := out.NumElements() / to
	most := min(planes, (space.Limit-1)/to)
	for most < planes && size*to*most%vectorBytes != 0 && most > 1 { // every launch begins at a vector
		most--
	}
	apart := out.Addr%vectorBytes != 0 || most < planes && size*to*most%vectorBytes != 0
	if apart && how == padConstant {
		return false, nil
	}
	var room uint64
	if apart {
		var err error
		if room, err = g.Scratch(int64(most * to * size)); err != nil {
			return false, err
		}
	}
	for first := 0; first < planes; first += most {
		n := min(most, planes-first)
		target := out.Addr + uint64(first*to*size)
		at := target
		if apart {
			at = room
		}
		if err := padPlanes(g, n*to, size, how, axes.Bytes(), at, x.Addr+uint64(first*from*size), value.Addr); err != nil {
			return false, err
		}
		if apart {
			if err := g.Copy(target, room, int64(n*to*size)); err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

// padPlanes launches the kernel for so many elements of a size, with the axes that it reads.
func padPlanes(g code.GPU, count, size, how int, axes []byte, to, from, value uint64) error {
	var p driver.Params
	p.Uint32(uint32(count))
	p.Int32(int32(how))
	p.Struct(axes, 4)
	p.Align(8)
	p.Uint64(to)
	p.Uint64(from)
	p.Uint64(value)
	return g.Launch("pad", ofUnit("pad", size), grid(int64(count*size), blockThreads*vectorBytes), block(blockThreads), 0, p.Bytes())
}
