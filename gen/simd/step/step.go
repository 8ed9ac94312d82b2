// Package step writes the vector functions that optimizers' steps are made of. It
// knows nothing of tensors; package backend/cpu/step calls them.
package step

import (
	"fmt"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/sinter-go/sinter/gen/simd/asm"
	"github.com/sinter-go/sinter/gen/simd/wide"
)

// Files returns the functions as assembly.
func Files(by string) ([]asm.File, error) {
	u := asm.Unit{Dir: "backend/cpu/step", Pkg: "step", Name: "steps", By: by}
	return u.Build(func(ctx *build.Context) {
		wide.Masks(ctx)
		wide.Each(ctx, func(k *wide.Kit) {
			sgd(k)
			momentum(k, false)
			momentum(k, true)
			adam(k)
		})
	})
}

// begin starts a step with so many constants, which it loads, over the pointers
// named.
func begin(k *wide.Kit, name, doc string, constants int, pointers ...string) (n reg.GPVirtual, at []reg.GPVirtual, c []reg.VecVirtual) {
	names := ""
	for _, p := range pointers {
		names += p + ", "
	}
	k.Func(name, fmt.Sprintf("func(n int, c *[%d]%s, %s *%s)", constants, k.Type(), names[:len(names)-2], k.Type()), doc)
	from := k.Arg("c")
	c = k.Vecs(constants)
	for i, v := range c {
		k.Broadcast(operand.Mem{Base: from, Disp: i * k.Elem()}, v)
	}
	for _, p := range pointers {
		at = append(at, k.Arg(p))
	}
	return k.Arg("n"), at, c
}

// decayed returns g + decay*p, in a new register.
func decayed(k *wide.Kit, g, decay, p reg.VecVirtual) reg.VecVirtual {
	d := k.Vec()
	k.Mul(decay, p, d)
	k.Add(g, d, d)
	return d
}

func sgd(k *wide.Kit) {
	n, at, c := begin(k, "sgd", "is SGD with constants rate and decay.", 2, "p", "grad")
	k.Map(n, at, func(load func(int) reg.VecVirtual, store func(reg.VecVirtual, int)) {
		p := load(0)
		d := decayed(k, load(1), c[1], p)
		k.Mul(d, c[0], d)
		k.Sub(p, d, p)
		store(p, 0)
	})
	k.End()
}

func momentum(k *wide.Kit, nesterov bool) {
	name := "momentum"
	if nesterov {
		name = "nesterov"
	}
	n, at, c := begin(k, name, "is Momentum with constants rate, momentum, share and decay.", 4, "p", "v", "grad")
	k.Map(n, at, func(load func(int) reg.VecVirtual, store func(reg.VecVirtual, int)) {
		p, v, g := load(0), load(1), load(2)
		d, part := decayed(k, g, c[3], p), k.Vec()
		k.Mul(v, c[1], v)
		k.Mul(d, c[2], part)
		k.Add(v, part, v)
		store(v, 1)
		if nesterov {
			k.Mul(v, c[1], v)
			k.Add(d, v, v)
		}
		k.Mul(v, c[0], v)
		k.Sub(p, v, p)
		store(p, 0)
	})
	k.End()
}

func adam(k *wide.Kit) {
	n, at, c := begin(k, "adam", "is Adam with the fields of AdamConstants.", 7, "p", "m", "v", "grad")
	rate, gain1, keep2, gain2, eps, decay, shrink := c[0], c[1], c[2], c[3], c[4], c[5], c[6]
	k.Map(n, at, func(load func(int) reg.VecVirtual, store func(reg.VecVirtual, int)) {
		p, m, v, g := load(0), load(1), load(2), load(3)
		d, part := decayed(k, g, decay, p), k.Vec()
		k.Sub(d, m, part)
		k.Mul(part, gain1, part)
		k.Add(m, part, m)
		store(m, 1)
		k.Mul(d, d, d)
		k.Mul(d, gain2, d)
		k.Mul(v, keep2, v)
		k.Add(v, d, v)
		store(v, 2)
		k.Sqrt(v, v)
		k.Add(v, eps, v)
		k.Div(m, v, v)
		k.Mul(v, rate, v)
		k.Mul(p, shrink, p)
		k.Sub(p, v, p)
		store(p, 0)
	})
	k.End()
}
