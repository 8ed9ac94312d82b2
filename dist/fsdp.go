package dist

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/runtime/core"
)

// FullyShardedDataParallel trains a model of which every rank of a group keeps an equal part:
// of the parameters, of their gradients and of the optimizer's state. Forward gathers the
// parameters for as long as it takes, a pass of Backward does once more, and averages their
// gradients, of which each rank gets its part. Results are those of DistributedDataParallel.
//
// A model of many layers is made of modules that are sharded each, and then sharded itself,
// which takes care of what is left. While one computes, the parameters of the next one, in
// the order of the model's fields, are gathered.
//
//	for i, block := range blocks {
//		sharded, err := dist.NewFullyShardedDataParallel(g, block)
//		...
//		layers[i] = sharded
//	}
//	model, err := dist.NewFullyShardedDataParallel(g, nn.NewSequential(layers...))
//
// Between passes parameters have shapes and dtypes, but no elements: use Gathered to look at
// them, SaveCheckpoint and LoadCheckpoint to save and load them, Optimizer to step them. Every
// rank makes the same passes; for one that fails see DistributedDataParallel. Buffers are each rank's
// own.
type FullyShardedDataParallel struct {
	// Model is the module, which must not be moved or converted.
	Model any `nn:"inline"`

	group *Group  `nn:"-"`
	units []*unit `nn:"-"` // of parameters that no module within has
	hold  bool    // see NoSync

	inner []*unit `nn:"-"` // of sharded modules within

	// The modules whose parameters are asked for next, in Forward and in Backward.
	next, before *FullyShardedDataParallel `nn:"-"`
}

// NewFullyShardedDataParallel shards a model, whose parameters are on the group's device.
// All ranks call it, with models of the same parameters: the first difference is an error
// on every rank. Values are those of rank 0.
func NewFullyShardedDataParallel(g *Group, model any) (*FullyShardedDataParallel, error) {
	if !g.made() {
		return nil, errNil
	}
	d := &FullyShardedDataParallel{Model: model, group: g}
	if err := d.begin(); err != nil {
		return nil, fmt.Errorf("dist: FullyShardedDataParallel: %w", err)
	}
	return d, nil
}

// begin compares the models, makes them alike and divides the parameters.
func (d *FullyShardedDataParallel) begin() error {
	within := map[*nn.Parameter]bool{}
	for _, u := range unitsOf(d.Model) {
		if u.group != d.group {
			return fmt.Errorf("%w: a module within is sharded by another group", ErrCall)
		}
		for _, p := range u.params {
			within[p] = true
		}
	}
	var text strings.Builder
	var names []string
	var params []*nn.Parameter
	var values []tensor.Tensor
	for name, p := range nn.Named(d.Model) {
		if within[p] {
			continue
		}
		if err := p.Err(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if p.Device() != d.group.Device() {
			return fmt.Errorf("%w: %s is on %s, the group's rank on %s", ErrCall, name, p.Device(), d.group.Device())
		}
		fmt.Fprintf(&text, "parameter %s of %s %v, trained: %v\n", name, p.DType(), p.Shape(), p.RequiresGrad())
		names, params, values = append(names, name), append(params, p), append(values, p.Tensor)
	}
	if len(params)+len(within) == 0 {
		return fmt.Errorf("%w: the model has no parameters", ErrCall)
	}
	if err := d.group.agree(text.String()); err != nil {
		return err
	}
	if len(params) == 0 {
		d.link()
		return nil
	}
	if err := d.group.broadcastAll(values); err != nil {
		return err
	}
	if err := d.group.together(d.divide(names, params)); err != nil {
		return err
	}
	d.link()
	return nil
}

// divide makes a unit of each large parameter that can be cut equally, whose gradient then needs
// no copy, and of the others of each dtype.
func (d *FullyShardedDataParallel) divide(names []string, params []*nn.Parameter) error {
	var order []ir.DType
	byType := map[ir.DType][]int{}
	for i, p := range params {
		if n := p.NumElements(); n*p.DType().Size() >= apartBytes && n%(grain*d.group.Size()) == 0 {
			if err := d.unit(names[i:i+1], params[i:i+1]); err != nil {
				return err
			}
			continue
		}
		if dt := p.DType(); byType[dt] == nil {
			order = append(order, dt)
		}
		byType[p.DType()] = append(byType[p.DType()], i)
	}
	for _, dt := range order {
		var n []string
		var list []*nn.Parameter
		for _, i := range byType[dt] {
			n, list = append(n, names[i]), append(list, params[i])
		}
		if err := d.unit(n, list); err != nil {
			return err
		}
	}
	return nil
}

// unit makes a unit of parameters of one dtype.
func (d *FullyShardedDataParallel) unit(names []string, params []*nn.Parameter) error {
	u, err := newUnit(d.group, &d.hold, names, params)
	if err == nil {
		d.units = append(d.units, u)
	}
	return err
}

// link notes for d and the sharded modules within in which order they begin Forward, and in
// which order Backward comes to them: the reverse of that in which they end Forward.
func (d *FullyShardedDataParallel) link() {
	var last, ended *FullyShardedDataParallel
	var open []*FullyShardedDataParallel
	var names []string
	d.inner = unitsOf(d.Model)
	end := func() {
		m := open[len(open)-1]
		m.before = ended
		ended, open, names = m, open[:len(open)-1], names[:len(names)-1]
	}
	for name, m := range nn.NamedModules(d) {
		m, ok := m.(*FullyShardedDataParallel)
		if !ok {
			continue
		}
		for len(open) > 0 && !within(name, names[len(names)-1]) {
			end()
		}
		if last != nil {
			last.next = m
		}
		last, open, names = m, append(open, m), append(names, name)
	}
	for len(open) > 0 {
		end()
	}
}

// within reports whether the module of a name is a part of an outer one.
func within(name, outer string) bool {
	return outer == "" || name == outer || strings.HasPrefix(name, outer+".")
}

// made reports whether this package made d.
func (d *FullyShardedDataParallel) made() bool { return d != nil && d.group != nil }

var errUnmadeSharded = fmt.Errorf("dist: %w: a nil or zero *dist.FullyShardedDataParallel; NewFullyShardedDataParallel makes one", ErrCall)

// Forward returns Model's Forward of x, for which all ranks gather the parameters.
func (d *FullyShardedDataParallel) Forward(x tensor.Tensor) tensor.Tensor {
	if !d.made() {
		return tensor.Wrap(core.Failed(errUnmadeSharded))
	}
	m, ok := d.Model.(nn.Module)
	if !ok {
		return tensor.Wrap(core.Failed(fmt.Errorf("dist: FullyShardedDataParallel: %T has no Forward of one tensor", d.Model)))
	}
	if err := d.gather(d.next); err != nil {
		return tensor.Wrap(core.Failed(err))
	}
	y := m.Forward(x)
	if y.RequiresGrad() { // whose gradient is complete before the module's part of the pass
		_, err := y.RegisterHook(func(g tensor.Tensor) tensor.Tensor {
			g.Release() // the scope would hold it until its end
			if err := d.gather(d.before); err != nil {
				return tensor.Wrap(core.Failed(err))
			}
			return tensor.Tensor{}
		})
		if err != nil {
			return tensor.Wrap(core.Failed(err))
		}
	}
	if err := d.evict(); err != nil {
		return tensor.Wrap(core.Failed(err))
	}
	return y
}

// gather has the module's parameters be there, and begins with those of another one, if it
// is not nil.
func (d *FullyShardedDataParallel) gather(ahead *FullyShardedDataParallel) error {
	for _, u := range d.units {
		if err := u.gather(); err != nil {
			return fmt.Errorf("dist: FullyShardedDataParallel: gathering %s: %w", u.names[0], err)
		}
	}
	if ahead == nil {
		return nil
	}
	for _, u := range ahead.units {
		if err := u.begin(); err != nil {
			return fmt.Errorf("dist: FullyShardedDataParallel: gathering %s: %w", u.names[0], err)
		}
	}
	return nil
}

// evict gives the memory of the module's parameters back, and of those within that were
// gathered ahead of a Forward that did not come.
func (d *FullyShardedDataParallel) evict() (err error) {
	for _, u := range d.units {
		err = errors.Join(err, u.evict())
	}
	for _, u := range d.inner {
		if u.ahead != nil {
			err = errors.Join(err, u.evict())
		}
	}
	return err
}

// Minimize is optim.Minimize of a loss that is computed with the model, which needs less memory:
// what loss made is released when it returns, so that Backward frees it as it goes. What loss wants
// to keep beyond its call, for hooks too, it gives to tensor.Keep.
func (d *FullyShardedDataParallel) Minimize(o optim.Optimizer, loss func() tensor.Tensor) (tensor.Tensor, error) {
	if !d.made() {
		return tensor.Wrap(core.Failed(errUnmadeSharded)), errUnmadeSharded
	}
	if loss == nil {
		return optim.Minimize(o, nil)
	}
	return optim.Minimize(o, func() tensor.Tensor {
		value := loss()
		core.ReleaseBut(value.Handle())
		return value
	})
}

// NoSync calls f, in which passes of Backward accumulate gradients of whole parameters on
// this rank alone, which takes their memory. The first pass after it that reaches a module
// averages what was accumulated for it. All ranks call it.
func (d *FullyShardedDataParallel) NoSync(f func() error) error {
	if !d.made() {
		return errUnmadeSharded
	}
	if f == nil {
		return nil
	}
	var was []bool
	modules := shardedIn(d)
	for _, m := range modules {
		was, m.hold = append(was, m.hold), true
	}
	defer func() {
		for i, m := range modules {
			m.hold = was[i]
		}
	}()
	return f()
}

// Gathered calls f with all parameters of the model there, for as long as it takes. What f
// writes to them is kept: every rank writes the same. All ranks call it.
func (d *FullyShardedDataParallel) Gathered(f func() error) (err error) {
	if !d.made() {
		return errUnmadeSharded
	}
	units := unitsOf(d)
	for _, u := range units {
		if err = u.gather(); err != nil {
			break
		}
		u.held++
	}
	if err == nil && f != nil {
		err = f()
	}
	for _, u := range units {
		if u.held > 0 {
			err = errors.Join(err, u.keep())
			u.held--
		}
		err = errors.Join(err, u.evict())
	}
	return err
}

// Optimizer returns an optimizer of the model's parameters, of which build makes this rank's
// part; see NewShardedOptimizer. All ranks call it.
func (d *FullyShardedDataParallel) Optimizer(build func(part []*nn.Parameter) (optim.Optimizer, error)) (*ShardedOptimizer, error) {
	if !d.made() {
		return nil, errUnmadeSharded
	}
	s := &ShardedOptimizer{group: d.group, params: nn.Parameters(d), apart: true, units: unitsOf(d)}
	place := map[*nn.Parameter]int{}
	for i, p := range s.params {
		place[p] = i
	}
	for _, u := range s.units {
		k := 0
		for _, p := range u.pieces {
			mine := p.owner == d.group.Rank()
			p.param = place[u.params[p.param]]
			s.pieces = append(s.pieces, p)
			if mine {
				s.own, s.parts = append(s.own, p), append(s.parts, u.parts[k])
				k++
			}
		}
	}
	err := error(nil)
	if build == nil {
		err = fmt.Errorf("%w: no function that makes the optimizer", ErrCall)
	} else {
		s.atLeastOne()
		err = s.build(build)
	}
	if err != nil {
		return nil, s.named(err)
	}
	return s, nil
}

// Close gives the model back to the program, with all parameters on every rank. All ranks
// call it. The group stays open.
func (d *FullyShardedDataParallel) Close() error {
	if !d.made() {
		return errUnmadeSharded
	}
	var errs []error
	for _, u := range unitsOf(d) {
		errs = append(errs, u.gather())
		u.held++
		for i, p := range u.params {
			if p.RequiresGrad() {
				errs = append(errs, p.Handle().SetTaker(nil, i))
			}
		}
	}
	return errors.Join(errs...)
}
