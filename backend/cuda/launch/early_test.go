package launch

import (
	"errors"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/ir"
)

// compiled is a fake of a capability, whose code is compiled for another.
type compiled struct {
	*fake
	capability, code int
	version          int // of CUDA
	fail             error
	early            []bool // of launches
}

func (c *compiled) DeviceAttribute(dev int, a driver.Attribute) (int, error) {
	switch a {
	case driver.ComputeCapabilityMajor:
		return c.capability / 10, nil
	case driver.ComputeCapabilityMinor:
		return c.capability % 10, nil
	}
	return c.fake.DeviceAttribute(dev, a)
}

func (c *compiled) Version() int { return c.version }

func (c *compiled) FunctionAttribute(_ int, _ driver.Function, a driver.FunctionAttribute) (int, error) {
	if a != driver.FunctionPTXVersion {
		return 0, errors.New("another attribute")
	}
	return c.code, c.fail
}

func (c *compiled) LaunchKernel(dev int, l driver.Launch) error {
	c.early = append(c.early, l.Early)
	return c.fake.LaunchKernel(dev, l)
}

// TestEarly: kernels are launched early that call early first and were compiled for devices that wait there,
// on such devices, by drivers that capture them so, but where that is turned off: those of standard modules,
// and of an operator's own module that says so.
func TestEarly(t *testing.T) {
	source := fstest.MapFS{}
	for _, c := range []struct {
		capability, code int
		version          int
		asked            string
		of               code.Kernels
		module           string
		want             bool
	}{
		{90, 90, 12030, "", code.Kernels{}, "thin", true},
		{90, 90, 12030, "", code.Kernels{}, "cross_entropy", true},
		{90, 90, 12030, "", code.Kernels{}, "optimizer", true},
		{90, 90, 12030, "", code.Kernels{}, "activation_b", false},
		{90, 90, 12030, "", code.Kernels{Source: source, Module: "own", Early: true}, "own", true},
		{90, 90, 12030, "", code.Kernels{Source: source, Module: "own", Early: true}, "copy", false},
		{90, 90, 12030, "", code.Kernels{Source: source, Module: "own"}, "own", false},
		{90, 90, 12030, "", code.Kernels{Source: source, Module: "thin"}, "thin", false},
		{90, 90, 12030, "0", code.Kernels{}, "thin", false},
		{90, 90, 12020, "", code.Kernels{}, "thin", false},
		{80, 90, 12030, "", code.Kernels{}, "thin", false},
		{90, 75, 12030, "", code.Kernels{}, "thin", false},
		{100, 75, 12030, "", code.Kernels{}, "thin", false}, // PTX that the driver compiles for it
		{100, 100, 12030, "", code.Kernels{}, "thin", true},
	} {
		t.Setenv("SINTER_CUDA_EARLY", c.asked)
		api := &compiled{fake: &fake{next: 1 << 50}, capability: c.capability, code: c.code, version: c.version}
		d, err := New(api, 0, api, api)
		must(t, err)
		launch := func(g code.GPU, _ *ir.Call) error {
			return g.Launch(c.module, "kernel", [3]int{1, 1, 1}, [3]int{32, 1, 1}, 0, nil)
		}
		x := &Context{device: d, of: &named{Kernels: &c.of, known: true}, frame: driver.NewFrame()}
		must(t, launch(x, nil))
		must(t, launch(x, nil))
		if diff := cmp.Diff([]bool{c.want, c.want}, api.early); diff != "" {
			t.Errorf("capability %d, code for %d, CUDA %d, SINTER_CUDA_EARLY=%q, %q of %+v: early (-want +got):\n%s", c.capability, c.code, c.version, c.asked, c.module, c.of, diff)
		}
	}
}

// TestEarlyLoops: loops of standard modules are launched early as kernels written by hand are, and an
// attribute that cannot be asked for is an error of the launch.
func TestEarlyLoops(t *testing.T) {
	t.Setenv("SINTER_CUDA_EARLY", "")
	for _, c := range []struct {
		module string
		code   int
		fail   error
		want   bool
	}{
		{"optimizer", 90, nil, true}, {"optimizer", 75, nil, false}, {"rounding", 90, nil, false}, {"optimizer", 90, errors.New("no attribute"), false},
	} {
		api := &compiled{fake: &fake{next: 1 << 50}, capability: 90, code: c.code, version: 12030, fail: c.fail}
		d, err := New(api, 0, api, api)
		must(t, err)
		op := &ir.Op{Name: "fresh", Kind: ir.Elementwise, Switch: -1, Out: []ir.Result{{Name: "out"}}, Bodies: []ir.Body{{Exprs: []string{"0"}}}}
		op.Code = []ir.Code{{For: Kind, Of: &code.Kernels{Module: c.module, Symbol: "s"}}}
		x := &Context{device: d, of: standard, frame: driver.NewFrame()}
		err = x.launch(d.loopsOf(op.Kernel(0, ir.Float32)), contiguousLoop, driver.Dim3{X: 1, Y: 1, Z: 1}, driver.Dim3{X: 32, Y: 1, Z: 1})
		if !errors.Is(err, c.fail) {
			t.Errorf("%s: %v, want %v", c.module, err, c.fail)
		}
		if got := len(api.early) == 1 && api.early[0]; got != c.want {
			t.Errorf("%s, code for %d: early is %v, want %v", c.module, c.code, got, c.want)
		}
	}
}
