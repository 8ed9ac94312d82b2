package optest

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
)

// RunUnwritten has every in-place form and every form that writes to a tensor fail on a
// simulated device, passes over what the call returns, and sees that the tensor says so
// at its next use, until its error was read; that its elements are as they were; and
// that other handles on them know of nothing. It installs devices of its own until t has
// ended: no test may run beside it.
func RunUnwritten(t *testing.T, table []Operator) {
	installOracle() // or what is installed here would stay as the oracle
	before, _ := device.DriverOf(device.KindSim)
	t.Cleanup(func() { device.Install(before) })
	d := sim.New(sim.Config{Devices: 1})
	device.Install(d)
	for i := range table {
		u := unwritten{runner{o: &table[i], dev: oracle}, d}
		if u.o.InPlace == nil && u.o.Out == nil || !u.o.RunsOn(oracle.Kind) {
			continue
		}
		t.Run(u.o.Op.Name, func(t *testing.T) {
			core.InScope(func(*core.Scope) {
				for _, err := range u.run() {
					t.Error(err)
				}
			})
		})
	}
}

type unwritten struct {
	runner
	driver *sim.Driver
}

// run tries the first sample with elements that each form takes, in a dtype of the
// operator's.
func (u *unwritten) run() (errs []error) {
	inPlace, out := u.o.InPlace == nil, u.o.Out == nil // done
	for _, s := range u.samples() {
		for _, dt := range u.o.Op.DTypes.List() {
			tr := trial{s, dt, contiguous}
			if !hasElements(s) || inPlace && out {
				continue
			}
			values := u.draw(tr, false)
			in, err := u.operands(tr, values, u.dev, false)
			if err != nil {
				return []error{err}
			}
			results := u.o.Call(u.args(tr, in, u.dev))
			if core.FirstError(results...) != nil || results[0].NumElements() == 0 {
				continue
			}
			if !out {
				out = true
				dst := core.Empty(results[0].Shape(), core.Placement{Device: u.dev, DType: results[0].DType()})
				errs = u.note(errs, "out", u.form(dst, func() error { return u.o.Out(dst, u.args(tr, in, u.dev)) }))
			}
			if !inPlace && len(in) > 0 && u.o.InPlace(u.args(tr, in, u.dev)) == nil {
				inPlace = true
				errs = u.note(errs, "in place", u.form(in[0], func() error { return u.o.InPlace(u.args(tr, in, u.dev)) }))
			} else if len(in) > 0 {
				_ = in[0].TakeErr()
			}
		}
	}
	if !inPlace || !out {
		errs = append(errs, errRefused)
	}
	return errs
}

func (u *unwritten) note(errs []error, form string, err error) []error {
	if err != nil {
		errs = append(errs, fmt.Errorf("%s: %w", form, err))
	}
	return errs
}

// form makes a launch of call fail, which should write to t.
func (u *unwritten) form(t *core.Tensor, call func() error) error {
	other := t.Detach()
	before, err := core.Bytes(other)
	if err != nil {
		return err
	}
	if err := u.driver.Fail(0, sim.FaultLaunch, 1, errInjected); err != nil {
		return err
	}
	said := call()
	if left := u.driver.Heal(0); left != 0 || !errors.Is(said, errInjected) {
		return fmt.Errorf("with a fault that is injected the form returns %v", said)
	}
	_, taken := core.Bytes(t)
	for use, err := range map[string]error{
		"an operand": tensor.Wrap(t).Clone().Err(), "a view": tensor.Wrap(t).Unsqueeze(0).Err(), "a detached handle": t.Detach().Err(),
		"another write": core.CopyFrom(t, other, core.TransferOptions{}, nil), "what takes elements out": taken,
	} {
		if !errors.Is(err, errInjected) {
			return fmt.Errorf("%s answers %v", use, err)
		}
	}
	if t.DType() == ir.Invalid || other.Err() != nil {
		return fmt.Errorf("the handle is %v, another %v", t, other.Err())
	}
	if err := t.TakeErr(); !errors.Is(err, errInjected) {
		return fmt.Errorf("the tensor carries %v", err)
	}
	after, err := core.Bytes(t)
	if err != nil {
		return fmt.Errorf("after its error was read: %w", err)
	}
	if !bytes.Equal(before, after) {
		return errors.New("a form that failed changed elements")
	}
	if err := call(); err != nil {
		return fmt.Errorf("again, without a fault: %w", err)
	}
	return t.Err()
}
