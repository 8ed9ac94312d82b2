package compile

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/option"
)

// An Option is an optional argument of Step and Func, of the type that all optional
// arguments have.
type Option = tensor.Option

// State declares what the function uses besides its arguments: models, optimizers,
// schedulers, parameters and tensors. They are read by reference, as in eager code. Where
// the Go values in a model change, such as the mode that nn.Train and nn.Eval set, the
// function is recorded again.
func State(parts ...any) Option { return option.Value("State", parts) }

// Captures allows tensors that are neither arguments nor declared. The program holds them.
func Captures(on ...bool) Option { return option.Flag("Captures", on) }

// Key gives a Go value that the function branches on, which is asked for at every call:
// there is a program for each. It must be comparable.
func Key(values ...func() any) Option { return option.Value("Key", values) }

// CallByCall has programs be given to accelerators call by call, and never as one graph.
func CallByCall(on ...bool) Option { return option.Flag("CallByCall", on) }

// Unfused has every operator run as a kernel of its own. Without it neighbouring element-wise
// operators are one, which gives the same results, and takes longer to record.
func Unfused(on ...bool) Option { return option.Flag("Unfused", on) }

// Relaxed lets kernels compute otherwise than eager code where that is quicker. Without it
// element-wise operators that became one kernel give eager code's bits. With it a GPU's
// library computes relu together with the product before it, and relu of NaN is 0 there; it
// multiplies products by any number, not by powers of two alone, before it rounds them; and
// gelu by tanh of 16-bit products, its gradient, and what is added to them.
func Relaxed(on ...bool) Option { return option.Flag("Relaxed", on) }

// Background has the code of fused operators be made while calls go on, which run operator by
// operator until it is there, with the same results. Wait waits for it.
func Background(on ...bool) Option { return option.Flag("Background", on) }

// Recompute gives up time for memory: large values that one element-wise operator makes of what
// is there anyway are computed again instead of kept, as long as that takes a small part of the
// program's time; in Func also by the backward program instead of saved for it. The bits are
// the same.
func Recompute(on ...bool) Option { return option.Flag("Recompute", on) }

// Streams spreads the calls of a graph that do not depend on one another over n streams, 2
// unless given.
func Streams(n int) Option { return option.Int("Streams", n) }

// Plans bounds how many programs are kept, 16 unless given. The one that was not used for
// longest is dropped for another, with its memory.
func Plans(n int) Option { return option.Int("Plans", n) }

// settings are what options adjust.
type settings struct {
	state    []any
	captures bool
	single   bool // calls are given to devices one by one
	unfused  bool
	relaxed  bool
	again    bool // values are computed again for memory
	// background has fused code be made while calls go on
	background bool
	streams    int
	keys       []func() any
	plans      int
	pad        *padding // nil: none
}

func read(r *option.Reader) (settings, error) {
	s := settings{
		state: option.Get[[]any](r, "State", nil), captures: r.Flag("Captures", false),
		single: r.Flag("CallByCall", false), unfused: r.Flag("Unfused", false), relaxed: r.Flag("Relaxed", false), background: r.Flag("Background", false), again: r.Flag("Recompute", false), pad: option.Get[*padding](r, "Pad", nil),
		keys: option.Get[[]func() any](r, "Key", nil), plans: r.Int("Plans", 16), streams: r.Int("Streams", 2),
	}
	if err := r.Err("State, Captures, Key, Pad, CallByCall, Unfused, Relaxed, Background, Recompute, Streams, Plans"); err != nil {
		return s, fmt.Errorf("compile: %w", err)
	}
	if s.plans < 1 {
		return s, fmt.Errorf("compile: at most %d plans, want 1 or more", s.plans)
	}
	if s.streams < 1 {
		return s, fmt.Errorf("compile: on %d streams, want 1 or more", s.streams)
	}
	if err := s.pad.check(); err != nil {
		return s, fmt.Errorf("compile: %w", err)
	}
	for i, k := range s.keys {
		if k == nil {
			return s, fmt.Errorf("compile: key %d is nil", i)
		}
	}
	for i, part := range s.state {
		if part == nil {
			return s, fmt.Errorf("compile: state %d is nil", i)
		}
	}
	return s, nil
}

// A known is a snapshot of models and what is found in them then.
type known struct {
	snapshot
	models map[int][]core.Declared // by part
}

// declared returns the tensors of declared parts. Those of models are looked for where memory
// does not have them.
func declared(parts []any, memory *known) (list []core.Declared, err error) {
	add := func(name string, t tensor.Tensor) {
		if e := t.Err(); e != nil && err == nil {
			err = fmt.Errorf("state %s: %w", name, e)
		}
		list = append(list, core.Declared{Name: name, Tensor: t.Handle()})
	}
	for i, part := range parts {
		switch p := part.(type) {
		case tensor.Tensor:
			add(fmt.Sprintf("state %d", i), p)
		case []tensor.Tensor:
			for k, t := range p {
				add(fmt.Sprintf("state %d.%d", i, k), t)
			}
		case *optim.Scheduler:
		case optim.Optimizer:
			for k, q := range p.Parameters() {
				add("parameter "+strconv.Itoa(k), q.Tensor)
			}
		default:
			if was, ok := memory.models[i]; ok {
				for _, d := range was {
					add(d.Name, tensor.Wrap(d.Tensor))
				}
				continue
			}
			from := len(list)
			for name, q := range nn.Named(part) {
				add(name, q.Tensor)
			}
			for name, b := range nn.NamedBuffers(part) {
				add(name, b.Tensor)
			}
			if err == nil {
				memory.keep(i, list[from:])
			}
		}
	}
	return list, err
}

// keep notes what a model has.
func (k *known) keep(part int, list []core.Declared) {
	if k.models == nil {
		k.models = map[int][]core.Declared{}
	}
	k.models[part] = slices.Clone(list)
}
