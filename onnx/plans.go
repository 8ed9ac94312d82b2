package onnx

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/onnx/internal/format"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/runtime/option"
)

const (
	defaultPlans = 16
	// remembered is how many kinds of runs are known for each program that is kept.
	remembered = 4
	// atOnce is how many bytes the inputs of a model's first run have, at least, that becomes a
	// program at once. To record one takes some milliseconds, unless there are loops in it, and
	// large images that no memory is planned for take as long to find new memory.
	atOnce = 4 << 20
	// fewElements is how many integers an operand has at most whose values may decide what
	// is computed.
	fewElements = 16
)

// plans are the programs of a model's runs whose shapes repeat, and of a large first run.
type plans struct {
	most int

	mu      sync.Mutex
	list    map[string]*kind
	uses    int64
	made    int
	values  bool      // values of few integers decide what is computed: a program is for these
	never   bool      // what is computed depends on other values
	trimmed sync.Once // memory, when a program had its weights packed
}

// A kind of run has inputs of some shapes, and some outputs.
type kind struct {
	used      int64
	plan      *plan // nil at first
	recording bool  // a run is making the plan; others are by themselves meanwhile
	failed    bool
}

// A plan is the program for a kind of run. It does not change, but for how often it ran.
type plan struct {
	program *compile.Compiled[[]tensor.Tensor]
	inputs  []string // arguments of the program
	outputs []string
	elems   []format.Elem // of the outputs
	runs    atomic.Int64
}

// packedRuns is after how many runs of a program its weights are packed.
const packedRuns = 2

// decides reports whether a tensor is integers that may decide what is computed.
func decides(t tensor.Tensor) bool {
	return !t.DType().IsFloat() && !t.DType().IsComplex() && t.NumElements() <= fewElements && t.Device() == tensorCPU
}

// key appends what a program depends on.
func (m *Model) key(b []byte, inputs map[string]*value, want []string) ([]byte, error) {
	for i, in := range m.inputs {
		v, ok := inputs[in.Name]
		if !ok {
			continue
		}
		b = append(b, byte(i), byte(i>>8), byte(v.t.DType()), byte(v.t.Rank()))
		for a := range v.t.Rank() {
			b = binary.LittleEndian.AppendUint64(b, uint64(v.t.Size(a)))
		}
		if m.plans.values && decides(v.t) {
			raw, err := v.t.Contiguous().Bytes()
			if err != nil {
				return nil, err
			}
			b = append(b, raw...)
		}
	}
	for _, name := range want {
		b = append(append(b, '|'), name...)
	}
	return b, nil
}

// bytesOf returns how many bytes inputs have.
func bytesOf(inputs map[string]*value) (bytes int) {
	for _, v := range inputs {
		bytes += v.t.NumElements() * v.t.DType().Size()
	}
	return bytes
}

// straight reports whether no graph runs inside of a model's own: each step is recorded once.
func (m *Model) straight() bool {
	return !slices.ContainsFunc(m.program.steps, func(s step) bool { return len(s.node.subgraphs) > 0 })
}

// plan returns the program for a run, nil where it can have none or is the first of its kind,
// unless it is the model's first run and large, or where the context ends while it is recorded.
func (m *Model) plan(ctx context.Context, inputs map[string]*value, want []string) *plan {
	p := &m.plans
	if p.most == 0 {
		return nil
	}
	for _, v := range inputs {
		if v.form != formTensor {
			return nil
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var room [128]byte
	key, err := m.key(room[:0], inputs, want)
	if err != nil || p.never {
		return nil
	}
	p.uses++
	k, ok := p.list[string(key)]
	if !ok {
		p.forget(remembered * p.most)
		if p.list == nil {
			p.list = map[string]*kind{}
		}
		k = &kind{used: p.uses}
		p.list[string(key)] = k
		if p.uses > 1 || m.device.Device != tensorCPU || bytesOf(inputs) < atOnce || !m.straight() {
			return nil
		}
	}
	k.used = p.uses
	if k.plan == nil && !k.failed && !k.recording {
		values := p.values
		made, err := p.recorded(k, func() (*plan, error) { return m.record(ctx, inputs, want, values) })
		if err == nil || ctx.Err() == nil {
			p.enter(string(key), k, made, err, values)
		}
	}
	return k.plan
}

// trim gives the system back what the first runs left in the host's cache, the garbage of
// loading and of packing weights for a run alone, and of the files what only these have read.
// It takes a collection of all the process's memory, once for a model.
func (m *Model) trim() {
	_ = memory.EmptyCache(tensorCPU) // which does not fail on the host
	runtime.GC()                     // what a sync.Pool holds stays for one collection
	debug.FreeOSMemory()
	m.files.forget()
}

// recorded calls record for a kind of run while the caller, which holds p.mu, does not.
func (p *plans) recorded(k *kind, record func() (*plan, error)) (*plan, error) {
	k.recording = true
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		k.recording = false
	}()
	return record()
}

// enter keeps what came of recording a program for runs of a kind, unless the kind was
// forgotten meanwhile. Values says whether it is for the values of few integers.
func (p *plans) enter(key string, k *kind, made *plan, err error, values bool) {
	if p.list[key] != k {
		return
	}
	switch {
	case err == nil:
		if p.made >= p.most {
			p.drop(p.longest())
		}
		k.plan = made
		p.made++
		return
	case !values && (errors.Is(err, compile.ErrHostRead) || errors.Is(err, compile.ErrEscaped)):
		p.values, p.list, p.made = true, nil, 0 // every kind of run has another key now
	case values:
		p.never, p.list, p.made = true, nil, 0
	}
	k.failed = true
}

// longest returns the kind with a program that was not seen for longest.
func (p *plans) longest() (oldest *kind) {
	for _, k := range p.list {
		if k.plan != nil && (oldest == nil || k.used < oldest.used) {
			oldest = k
		}
	}
	return oldest
}

// forget drops the kind of run that was not seen for longest where there are so many.
func (p *plans) forget(most int) {
	if len(p.list) < most {
		return
	}
	oldest := ""
	for key, k := range p.list {
		if oldest == "" || k.used < p.list[oldest].used {
			oldest = key
		}
	}
	p.drop(p.list[oldest])
	delete(p.list, oldest)
}

// drop lets go of a plan. A run that goes on keeps its program.
func (p *plans) drop(k *kind) {
	if k.plan != nil {
		k.plan = nil
		p.made--
	}
}

// record makes the program for runs like this one, if that is possible and the context does not
// end before. Values says whether it is for the values of few integers.
func (m *Model) record(ctx context.Context, inputs map[string]*value, want []string, values bool) (*plan, error) {
	made := &plan{}
	for _, o := range m.outputs {
		if len(want) == 0 || slices.Contains(want, o.Name) {
			made.outputs = append(made.outputs, o.Name)
		}
	}
	given, elems := map[string]*value{}, map[string]format.Elem{}
	var args []tensor.Tensor
	for _, in := range m.inputs {
		v, ok := inputs[in.Name]
		switch {
		case !ok:
		case values && decides(v.t):
			var t tensor.Tensor
			core.OutsideScope(func() { t = v.t.Clone() })
			given[in.Name] = &value{t: t, elem: v.elem, borrowed: true, known: true}
		default:
			made.inputs, elems[in.Name] = append(made.inputs, in.Name), v.elem
			args = append(args, v.t.To(m.device.Device))
		}
	}
	made.program = compile.Func(func(x ...tensor.Tensor) ([]tensor.Tensor, error) {
		all := make(map[string]*value, len(given)+len(x))
		for name, v := range given {
			all[name] = &value{t: v.t, elem: v.elem, borrowed: true, known: true}
		}
		for i, t := range x {
			all[made.inputs[i]] = &value{t: t, elem: elems[made.inputs[i]], borrowed: true}
		}
		list, elems, err := m.results(ctx, all, made.outputs)
		if made.elems == nil {
			made.elems = elems
		}
		return list, err
	}, compile.Captures(), compile.Plans(1))
	err := tensor.NoGrad(func() error { return tensor.Scope(func() error { return made.program.Prepare(args...) }) })
	ctx = context.Background() // should it be recorded again
	return made, err
}

// results are the outputs of a run that is recorded.
func (m *Model) results(ctx context.Context, inputs map[string]*value, outputs []string) (list []tensor.Tensor, elems []format.Elem, err error) {
	out, err := m.eager(ctx, inputs, outputs)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range outputs {
		v := out[name]
		if v.form != formTensor {
			return nil, nil, fmt.Errorf("%w: output %q is no tensor", compile.ErrUnrecordable, name)
		}
		list, elems = append(list, v.t), append(elems, v.elem)
	}
	return list, elems, nil
}

// run runs the program.
func (k *plan) run(m *Model, inputs map[string]*value) (map[string]*value, error) {
	out := make(map[string]*value, len(k.outputs))
	err := tensor.NoGrad(func() error {
		return tensor.Scope(func() error {
			args := make([]tensor.Tensor, len(k.inputs))
			for i, name := range k.inputs {
				args[i] = inputs[name].t.To(m.device.Device)
			}
			list, err := k.program.Call(args...)
			if err != nil {
				return err
			}
			tensor.Keep(list...)
			for i, name := range k.outputs {
				out[name] = &value{t: list[i], elem: k.elems[i]}
			}
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	if k.runs.Add(1) == packedRuns && m.device.Device == tensorCPU {
		m.plans.trimmed.Do(m.trim)
	}
	return out, nil
}

// Explain says in words which programs the model has made of its runs.
func (m *Model) Explain() string {
	p := &m.or().plans
	p.mu.Lock()
	defer p.mu.Unlock()
	var b strings.Builder
	switch {
	case p.never:
		return "every run is by itself: what is computed depends on values of the inputs\n"
	case p.made == 0:
		return "every run was by itself so far: none had the shapes of one before\n"
	}
	for _, k := range p.list {
		if k.plan != nil {
			fmt.Fprintf(&b, "inputs %s: %s", strings.Join(k.plan.inputs, ", "), k.plan.program.Explain())
		}
	}
	return b.String()
}

// Plans bounds how many programs a model keeps for runs whose shapes repeat and for a large
// first run, 16 unless given; 0 has every run by itself. It is an option of Load, LoadFS and LoadBytes.
func Plans(n int) tensor.Option { return option.Int("Plans", n) }
