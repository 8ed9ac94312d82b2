package onnx

import (
	"context"
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/data"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/onnx/internal/format"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/precision"
)

// TestSteps runs every step of real models on the device of the flag and on the CPU, both with
// the CPU's operands. Layers that quantize while they run carry roundings on from step to
// step, so that whole models may differ by hundredths; a step may not.
func TestSteps(t *testing.T) {
	folder, on := flag.Lookup("models").Value.String(), flag.Lookup("device").Value.String()
	dev, err := device.Parse(on)
	if err != nil {
		t.Fatal(err)
	}
	if folder == "" || dev == device.CPU {
		t.Skip("no -models, or no -device other than the CPU")
	}
	set := func(on bool) { precision.SetMatmulTF32(on); precision.SetConvTF32(on) }
	set(false)
	t.Cleanup(func() { set(true) })
	files, _ := filepath.Glob(filepath.Join(folder, "*.onnx"))
	if len(files) == 0 {
		t.Fatalf("no models in %s", folder)
	}
	for _, file := range files {
		name := strings.TrimSuffix(file, ".onnx")
		t.Run(filepath.Base(name), func(t *testing.T) {
			host, err := Load(file, Plans(0))
			if err != nil {
				t.Fatal(err)
			}
			there, err := Load(file, Plans(0), tensor.On(dev))
			if err != nil {
				t.Fatal(err)
			}
			if len(host.program.steps) != len(there.program.steps) {
				t.Fatalf("%d steps, on the CPU %d", len(there.program.steps), len(host.program.steps))
			}
			inputs, err := data.LoadArrays(name+".in.npz", device.CPU)
			if err != nil {
				t.Fatal(err)
			}
			err = tensor.NoGrad(func() error { return tensor.Scope(func() error { return stepByStep(t, host, there, inputs) }) })
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

// stepByStep runs a model on the CPU, and every step on the other's device, too.
func stepByStep(t *testing.T, host, there *Model, inputs map[string]tensor.Tensor) error {
	f, g := newFrame(context.Background(), host.program, device.CPU), newFrame(context.Background(), there.program, there.device.Device)
	for i, in := range host.inputs {
		if x, ok := inputs[in.Name]; ok {
			f.set(host.program.inputs[i], &value{t: x, elem: in.elem, borrowed: true})
		}
	}
	for i := range host.program.steps {
		s := &host.program.steps[i]
		want, err := f.one(s)
		if err != nil {
			return err
		}
		for k, p := range s.in { // what is constant is there
			if q := there.program.steps[i].in[k]; p >= 0 && f.places[p] != nil && f.places[p].constant == nil {
				g.places[q] = f.places[p].to(g.dev)
			}
		}
		got, err := g.one(&there.program.steps[i])
		if err != nil {
			return err
		}
		for k := range want {
			if s.out[k] < 0 || want[k] == nil {
				continue
			}
			part := 1e-5
			if s.node.file.Operator == "DynamicQuantizeLSTM" { // which quantizes in each of its steps
				part = 1e-2
			}
			if err := alikeStep(got[k], want[k], part); err != nil {
				t.Errorf("step %d, %s (node %q), result %d: %v", i, s.node.file.Operator, s.node.title(), k, err)
			}
			f.set(s.out[k], want[k])
		}
	}
	return nil
}

// one returns the results of a step.
func (f *frame) one(s *step) ([]*value, error) {
	c := &call{step: s, frame: f, dev: f.dev, out: make([]*value, len(s.out))}
	for _, p := range s.in {
		var v *value
		if p >= 0 {
			v = f.places[p]
		}
		c.in = append(c.in, v)
	}
	if err := c.run(); err != nil {
		return nil, fmt.Errorf("%s (node %q): %w", s.node.file.Operator, s.node.title(), err)
	}
	return c.out, nil
}

// to returns a value on a device. Small lists of integers stay on the host, as they do in a run.
func (v *value) to(dev device.Device) *value {
	if v.form == formSequence {
		w := &value{form: formSequence, elem: v.elem}
		for _, x := range v.list {
			w.list = append(w.list, x.to(dev))
		}
		return w
	}
	if v.form != formTensor || (v.elem == format.Int64 || v.elem == format.Int32) && v.t.NumElements() <= fewElements {
		return v
	}
	return &value{t: v.t.To(dev), elem: v.elem}
}

// alikeStep compares results of a step, which may differ by a part of the largest one. Integers
// may be one apart, where floats were rounded to them.
func alikeStep(got, want *value, part float64) error {
	if want.form != formTensor {
		return nil
	}
	w := asDouble(&value{t: want.t})
	most, _, err := largest(w)
	if err != nil {
		return err
	}
	atol := part * most
	if b := want.t.DType(); b == tensor.Uint8 || b == tensor.Int8 {
		atol = 1
	}
	return agree(asDouble(&value{t: got.t.CPU()}), w, 1e-4, atol)
}
