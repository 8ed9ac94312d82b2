package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dave/jennifer/jen"

	"github.com/sinter-go/sinter/gen/emit"
	"github.com/sinter-go/sinter/gen/emit/gofile"
	"github.com/sinter-go/sinter/gen/emit/unit"
	"github.com/sinter-go/sinter/gen/schema"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/expr"
)

// toyBackend is a backend that generates code: Go functions of one element, for
// element-wise operators of float32. It is all that the generator has to know of it.
var toyBackend = gofile.Backend{Kind: "toy", Emit: emitToy, Code: func(u *unit.Unit, op *schema.Op) jen.Code {
	if op.Kind != ir.Elementwise {
		return nil
	}
	return jen.Op("&").Qual(u.Pkg("toy"), op.GoName)
}}

func emitToy(u *unit.Unit) {
	e := &gofile.Emitter{Unit: u}
	f := e.NewFile("toy", "toy.go", "Package toy is the operators as functions of one element.")
	f.Doc("A Code computes one element of an operator, of its operands and scalar attributes.")
	f.Type().Id("Code").Func().Params(jen.Id("p").Index().Float32(), jen.Id("s").Index().Float32()).Float32()
	for _, g := range u.Groups {
		for _, op := range g.Ops {
			if op.Kind != ir.Elementwise {
				continue
			}
			graph, err := op.Variants[0].Check(ir.Float32)
			if err != nil {
				u.Fail(op, "%v", err)
				continue
			}
			text := graph.Go(expr.GoTypes{T: "float32", Real: "float32"})
			var body []jen.Code
			local := func(list, name string, i int) {
				body = append(body, jen.Id(name).Op(":=").Id(list).Index(jen.Lit(i)), jen.Id("_").Op("=").Id(name))
			}
			for i, p := range op.Operands() {
				local("p", p.Name, i)
			}
			for i, p := range op.Attrs() {
				local("s", p.Name, i)
			}
			for _, l := range text.Lets {
				body = append(body, jen.Id(l.Name).Op(":=").Id(l.Expr))
			}
			body = append(body, jen.Return(jen.Id(text.Results[0])))
			f.Doc(op.GoName + " is the code of " + op.Name + ".")
			f.Var().Id(op.GoName).Id("Code").Op("=").Func().Params(jen.Id("p").Index().Float32(), jen.Id("s").Index().Float32()).Float32().Block(body...)
		}
	}
	f.Done()
}

const toySchema = `schema: 1
package: blends
groups:
- group: blends
  doc: Blends.
  ops:
  - op: blend(x Tensor, y Tensor, *, share float = 0.5) -> Tensor
    doc: returns share of x and y times x.
    dtypes: float
    expr: x*share + y*x
    test: {domain: [-4, 4], ulp: 4, cases: [[2, 3, 7], [0, 1, 0]]}
`

// toyTest runs an operator and its gradient by the generated code, on a device whose
// memory is a simulated one's.
const toyTest = `package toy_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"unsafe"

	"example.com/user/ops"
	"example.com/user/toy"
	"github.com/sinter-go/sinter/backend/cpu"
	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
)

// A driver runs kernels by package toy.
type driver struct {
	*sim.Driver
	ran []string
}

func (d *driver) Launch(dev int, q device.StreamID, c *ir.Call) error {
	code, ok := c.Op.CodeFor("toy").(*toy.Code)
	if !ok {
		return d.Driver.Launch(dev, q, c) // copies, and what there is no code for
	}
	n := ir.NumElements(c.Space)
	p := make([][]float32, len(c.In))
	for i, v := range c.In {
		if v.DType != c.Kernel.In[i].DType || !v.IsContiguous() {
			return fmt.Errorf("%v: operand %d is %v", c.Kernel, i, v)
		}
		p[i] = make([]float32, n)
		if err := d.CopyToHost(dev, q, unsafe.Pointer(&p[i][0]), v.Addr, int64(4*n)); err != nil {
			return err
		}
	}
	if err := d.SyncStream(context.Background(), dev, q); err != nil {
		return err
	}
	var s []float32
	for _, x := range c.Scalars {
		s = append(s, float32(x.Float()))
	}
	out := make([]float32, n)
	for i := range out {
		one := make([]float32, len(p))
		for k := range p {
			one[k] = p[k][i]
		}
		out[i] = (*code)(one, s)
	}
	d.ran = append(d.ran, c.Kernel.String())
	if err := d.CopyFromHost(dev, q, c.Out[0].Addr, unsafe.Pointer(&out[0]), int64(4*n)); err != nil {
		return err
	}
	return d.SyncStream(context.Background(), dev, q)
}

func TestToy(t *testing.T) {
	d := &driver{Driver: sim.New(sim.Config{Devices: 1})}
	device.Install(new(cpu.Driver), d)
	on := core.Placement{Device: device.Sim(0), RequireGrad: true}
	x, y := core.From([]float32{1, 2, 3}, nil, on), core.From([]float32{4, 5, 6}, nil, on)
	z := ops.Blend(x, y, 2)
	got, err := core.Data[float32](z)
	if want := []float32{6, 14, 24}; err != nil || !slices.Equal(got, want) {
		t.Errorf("blend: %v, %v, want %v", got, err, want)
	}
	if err := core.Backward([]*core.Tensor{z}, []*core.Tensor{core.From([]float32{1, 1, 1}, nil, core.Placement{Device: device.Sim(0)})}, core.BackwardOptions{}); err != nil {
		t.Fatal(err)
	}
	got, err = core.Data[float32](x.Grad())
	if want := []float32{6, 7, 8}; err != nil || !slices.Equal(got, want) {
		t.Errorf("its gradient: %v, %v, want %v", got, err, want)
	}
	if len(d.ran) < 2 {
		t.Errorf("the generated code ran for %q", d.ran)
	}
}
`

// TestBackend adds a backend that generates code: a value of gofile.Backend, and a driver
// that reads what descriptors hold for it. Nothing else of the tree knows of it.
func TestBackend(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a module")
	}
	spec, err := schema.Parse("ops.yaml", []byte(toySchema), baseSpec(t))
	if err != nil {
		t.Fatal(err)
	}
	emitted, err := emit.Files(spec, userTarget, toyBackend)
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile("../go.sum")
	if err != nil {
		t.Fatal(err)
	}
	dir, names := t.TempDir(), 0
	p := project{root: dir, files: emitted}
	changes, err := p.compare()
	if err == nil {
		err = p.apply(changes)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range emitted {
		if strings.HasPrefix(f.Path, "ops/") {
			names += strings.Count(string(f.Data), `{For: "toy", Of: &toy.`)
		}
	}
	if names == 0 {
		t.Error("no descriptor names the backend's code")
	}
	write(t, filepath.Join(dir, "toy", "toy_test.go"), toyTest)
	write(t, filepath.Join(dir, "go.sum"), string(sums))
	write(t, filepath.Join(dir, "go.mod"), fmt.Sprintf("module example.com/user\n\ngo 1.26.0\n\nrequire %s v0.0.0\n\nreplace %[1]s => %s\n", unit.Module, root))
	goCommand(t, dir, "test", "-mod=mod", "./toy")
}
