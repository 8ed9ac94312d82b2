package dist

import (
	"errors"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
)

// unitsOf returns the units of a model, outer before inner ones.
func unitsOf(model any) (out []*unit) {
	for _, d := range shardedIn(model) {
		out = append(out, d.units...)
	}
	return out
}

// shardedIn returns the sharded modules of a model, outer before inner ones.
func shardedIn(model any) (out []*FullyShardedDataParallel) {
	for _, m := range nn.NamedModules(model) {
		if d, ok := m.(*FullyShardedDataParallel); ok {
			out = append(out, d)
		}
	}
	return out
}

// fromUnits calls f on rank root with copies of all parameters in host memory, and on the
// others without. One unit after the other is gathered, on every rank, whatever becomes of the copies.
func fromUnits(units []*unit, root bool, f func() error) error {
	return swapped(func(swap func(p *nn.Parameter) tensor.Tensor) error {
		var own error
		for _, u := range units {
			if err := u.gather(); err != nil {
				return errors.Join(own, err)
			}
			for _, p := range u.params {
				if root && own == nil {
					whole := p.Detach()
					own = swap(p).CopyFrom(whole)
				}
			}
			own = errors.Join(own, u.evict())
		}
		if own != nil {
			return own
		}
		return f()
	})
}

// toUnits calls f with all parameters in host memory, and with what makes this rank's part what is there then. That
// changes nothing where it fails, and gives what undoes it while f runs.
func toUnits(units []*unit, f func(install func() (undo func() error, err error)) error) error {
	return swapped(func(swap func(p *nn.Parameter) tensor.Tensor) error {
		for _, u := range units {
			for _, p := range u.params {
				swap(p)
			}
		}
		return f(func() (undo func() error, err error) { return install(units) })
	})
}

// install makes this rank's part of parameters what they are, and gives what undoes it.
func install(units []*unit) (undo func() error, err error) {
	var parts, before []tensor.Tensor // the first of parts have been changed, as many as there are before
	undo = func() (err error) {
		for i, b := range before {
			err = errors.Join(err, parts[i].CopyFrom(b))
		}
		return err
	}
	for _, u := range units {
		k := 0
		for i := range u.pieces {
			p := &u.pieces[i]
			if p.owner != u.group.Rank() {
				continue
			}
			part := u.parts[k].Detach()
			k++
			was := part.CPU()
			if was == part {
				was = part.Clone()
			}
			if err = was.Err(); err == nil {
				parts, before = append(parts, part), append(before, was)
				err = part.CopyFrom(p.of(u.params[p.param].Tensor))
			}
			if err != nil {
				return nil, errors.Join(err, undo())
			}
		}
	}
	return undo, nil
}

// swapped calls f with what puts zeros in host memory in a parameter's place. When f returns,
// parameters are again where they were.
func swapped(f func(swap func(p *nn.Parameter) tensor.Tensor) error) error {
	return tensor.Scope(func() error {
		was := map[*nn.Parameter]tensor.Tensor{}
		defer func() {
			for p, t := range was {
				p.Tensor = t
			}
		}()
		return f(func(p *nn.Parameter) tensor.Tensor {
			was[p] = p.Tensor
			p.Tensor = tensor.Zeros(p.Shape(), tensor.OfType(p.DType()))
			return p.Tensor
		})
	})
}
