package dist

import (
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
// others without. One unit after the other is gathered.
func fromUnits(units []*unit, root bool, f func() error) error {
	return swapped(func(swap func(p *nn.Parameter) tensor.Tensor) error {
		for _, u := range units {
			if err := u.gather(); err != nil {
				return err
			}
			for _, p := range u.params {
				if !root {
					continue
				}
				whole := p.Detach()
				if err := swap(p).CopyFrom(whole); err != nil {
					return err
				}
			}
			if err := u.evict(); err != nil {
				return err
			}
		}
		return f()
	})
}

// toUnits calls f with all parameters in host memory, and keeps this rank's part of what f
// writes there.
func toUnits(units []*unit, f func() error) error {
	return swapped(func(swap func(p *nn.Parameter) tensor.Tensor) error {
		for _, u := range units {
			for _, p := range u.params {
				swap(p)
			}
		}
		if err := f(); err != nil {
			return err
		}
		for _, u := range units {
			k := 0
			for i := range u.pieces {
				p := &u.pieces[i]
				if p.owner != u.group.Rank() {
					continue
				}
				err := u.parts[k].Detach().CopyFrom(p.of(u.params[p.param].Tensor))
				if k++; err != nil {
					return err
				}
			}
		}
		return nil
	})
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
