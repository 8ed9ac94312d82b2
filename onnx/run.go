package onnx

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/onnx/internal/format"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
)

// Run computes the outputs for inputs by name. Inputs are on the host or on the model's
// device, in the dtypes and shapes that Inputs says; one that is Optional may be left out.
// The outputs are new tensors, the caller's to release. Those named in want are computed,
// or without any all of them. A cancelled context ends the run between two operators.
//
// Where a run has the shapes of one before, or is a model's first and large, it becomes a
// program, which is run again when they come back: the option Plans of Load says how many are
// kept. A program is not ended by a context; that it is made is.
//
// Errors about the inputs wrap ErrInput, and nothing was computed then.
func (m *Model) Run(ctx context.Context, inputs map[string]tensor.Tensor, want ...string) (map[string]tensor.Tensor, error) {
	values := make(map[string]*value, len(inputs))
	for name, t := range inputs {
		values[name] = &value{t: t, elem: native[t.DType()], borrowed: true}
	}
	results, err := m.run(ctx, values, want)
	if err != nil {
		return nil, err
	}
	out := make(map[string]tensor.Tensor, len(results))
	for name, v := range results {
		if v.form != formTensor {
			for _, r := range results {
				r.t.Release()
			}
			return nil, fmt.Errorf("onnx: output %q is a sequence or an optional value; Run gives tensors: name the others: %w", name, ErrUnsupported)
		}
		out[name] = v.t
	}
	return out, nil
}

// run is Run for all forms of values.
func (m *Model) run(ctx context.Context, inputs map[string]*value, want []string) (out map[string]*value, err error) {
	defer func() {
		if r := recover(); r != nil {
			out, err = nil, fmt.Errorf("onnx: internal error: %v\n%s", r, debug.Stack())
		}
	}()
	if m == nil || m.program == nil {
		return nil, errors.New("onnx: a nil Model, or one that was not loaded")
	}
	if ctx == nil {
		ctx = context.Background()
	}
	if err := m.fit(inputs, want); err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	if p := m.plan(ctx, inputs, want); p != nil {
		return p.run(m, inputs)
	}
	if out, err = m.eager(ctx, inputs, want); err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	return out, nil
}

// eager runs the steps one by one.
func (m *Model) eager(ctx context.Context, inputs map[string]*value, want []string) (out map[string]*value, err error) {
	f := newFrame(ctx, m.program, m.device.Device)
	out = map[string]*value{}
	err = tensor.NoGrad(func() error {
		return tensor.Scope(func() error {
			for i, in := range m.inputs {
				v, ok := inputs[in.Name]
				if !ok {
					continue // the model's own is there
				}
				if v.form == formTensor && in.elem != 0 {
					v.elem = in.elem
				}
				if v.form == formTensor && v.t.Device() != m.device.Device {
					v = &value{t: v.t.To(m.device.Device), elem: v.elem, known: v.known}
				}
				f.set(m.program.inputs[i], v)
			}
			if err := f.run(); err != nil {
				return err
			}
			for i, o := range m.outputs {
				if len(want) > 0 && !slices.Contains(want, o.Name) {
					continue
				}
				v, err := f.places[m.program.outputs[i]].owned(m.device.Device)
				if err != nil {
					return fmt.Errorf("output %q: %w", o.Name, err)
				}
				out[o.Name] = v
			}
			return nil
		})
	})
	return out, err
}

// owned returns a value that outlives the run and shares no memory with parameters or
// operands.
func (v *value) owned(d device.Device) (*value, error) {
	if v == nil {
		return nil, errors.New("it was not computed")
	}
	switch v.form {
	case formSequence:
		out := &value{form: formSequence, elem: v.elem}
		for _, x := range v.list {
			o, err := x.owned(d)
			if err != nil {
				return nil, err
			}
			out.list = append(out.list, o)
		}
		return out, nil
	case formNone:
		return v, nil
	}
	t := v.t
	if t.Device() != d {
		t = t.To(d)
	}
	if v.borrowed || v.known && core.Recording() { // a program makes it new at every run
		t = t.Clone()
	} else if !t.IsContiguous() {
		t = t.Contiguous()
	}
	if err := t.Err(); err != nil {
		return nil, err
	}
	tensor.Keep(t)
	return &value{t: t, elem: v.elem}, nil
}

// fit compares what Run is given with what the model takes.
func (m *Model) fit(inputs map[string]*value, want []string) error {
	var wrong []string
	named := map[string]int{}
	for name, v := range inputs {
		i := slices.IndexFunc(m.inputs, func(in Value) bool { return in.Name == name })
		if i < 0 {
			wrong = append(wrong, fmt.Sprintf("the model has no input %q", name))
			continue
		}
		if reason := m.inputs[i].fits(v, named); reason != "" {
			wrong = append(wrong, fmt.Sprintf("input %q %s", name, reason))
		}
	}
	for _, in := range m.inputs {
		if _, ok := inputs[in.Name]; !ok && !in.Optional {
			wrong = append(wrong, fmt.Sprintf("input %q is missing", in.Name))
		}
	}
	for _, name := range want {
		if !slices.ContainsFunc(m.outputs, func(o Value) bool { return o.Name == name }) {
			wrong = append(wrong, fmt.Sprintf("the model has no output %q", name))
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	slices.Sort(wrong)
	have := make([]string, len(m.inputs))
	for i, in := range m.inputs {
		have[i] = in.String()
	}
	return fmt.Errorf("%w: %s; it takes %s", ErrInput, strings.Join(wrong, "; "), strings.Join(have, ", "))
}

// fits returns why a value is not one for the input, or nothing. Named has the extents
// that names have so far.
func (in Value) fits(v *value, named map[string]int) string {
	if v.form != formTensor || in.form != format.FormTensor {
		return ""
	}
	if err := v.t.Err(); err != nil {
		return "is invalid: " + err.Error()
	}
	if in.DType != v.t.DType() {
		return fmt.Sprintf("is %s, want %s", v.t.DType(), in.DType)
	}
	if !in.Known {
		return ""
	}
	shape := v.t.Shape()
	bad := len(shape) != len(in.Axes)
	for i := 0; i < len(shape) && !bad; i++ {
		a := in.Axes[i]
		bad = a.Extent >= 0 && a.Extent != shape[i]
		if a.Extent < 0 && a.Name != "" {
			if n, ok := named[a.Name]; ok && n != shape[i] {
				return fmt.Sprintf("has shape %v, and %s is %d elsewhere", shape, a.Name, n)
			}
			named[a.Name] = shape[i]
		}
	}
	if bad {
		return fmt.Sprintf("has shape %v, want %s", shape, in)
	}
	return ""
}

// A frame is one run of a program.
type frame struct {
	ctx     context.Context
	program *program
	dev     device.Device
	places  []*value
	call    call
}

func newFrame(ctx context.Context, p *program, dev device.Device) *frame {
	f := &frame{ctx: ctx, program: p, dev: dev, places: make([]*value, p.places)}
	for _, h := range p.constants {
		f.places[h.place] = h.value
	}
	return f
}

// set puts a value into a place.
func (f *frame) set(p int, v *value) {
	if v.constant == nil {
		v.refs++
	}
	f.places[p] = v
}

// drop empties a place. The memory of a value that no place holds any more goes back.
func (f *frame) drop(p int) {
	v := f.places[p]
	if v == nil || v.constant != nil {
		return
	}
	f.places[p] = nil
	if v.refs--; v.refs == 0 && v.form == formTensor && !v.borrowed {
		v.t.Release()
	}
}

// run runs all steps.
func (f *frame) run() error {
	for i := range f.program.steps {
		s := &f.program.steps[i]
		if err := f.ctx.Err(); err != nil {
			return err
		}
		c := &f.call
		*c = call{step: s, frame: f, dev: f.dev, in: c.in[:0], out: c.out[:0]}
		for _, p := range s.in {
			var v *value
			if p >= 0 {
				v = f.places[p]
			}
			c.in = append(c.in, v)
		}
		for range s.out {
			c.out = append(c.out, nil)
		}
		if err := c.run(); err != nil {
			return fmt.Errorf("%s (node %q): %w", s.node.file.Operator, s.node.title(), err)
		}
		for k, p := range s.out {
			if p >= 0 && c.out[k] != nil {
				f.set(p, c.out[k])
			}
		}
		for _, p := range f.program.release[i] {
			f.drop(p)
		}
	}
	return nil
}

// title returns a name by which people find a node.
func (n *node) title() string {
	if n.file.Name == "" && len(n.file.Outputs) > 0 {
		return n.file.Outputs[0]
	}
	return n.file.Name
}
