package dist_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/dist"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optest"
	"github.com/sinter-go/sinter/optim/checkpoint"
	"github.com/sinter-go/sinter/runtime/device"
)

// TestNoMemoryTold has one rank have no memory for what all ranks are to do together, at one allocation after the other:
// all are told, and nobody waits for it.
func TestNoMemoryTold(t *testing.T) {
	onSimulated(t)
	const n, elements, short = 3, 300, 1
	before, err := device.DriverOf(device.KindSim)
	must(t, err)
	t.Cleanup(func() { device.Install(before) })
	full := errors.New("the memory is full")
	dir := t.TempDir()
	for name, what := range map[string]func(g *dist.Group) (func() error, error){
		"state": func(g *dist.Group) (func() error, error) {
			o, err := stepped(g, elements)
			return func() error {
				state, err := o.State()
				for _, v := range state {
					v.Release()
				}
				return err
			}, err
		},
		"checkpoint": func(g *dist.Group) (func() error, error) {
			d, o, err := newTower(g, "adam")
			if err == nil {
				err = towerSteps(g, d, o, 0, 1)
			}
			path := filepath.Join(dir, "run")
			return func() error { return dist.SaveCheckpoint(g, path, checkpoint.State{Model: d, Optimizer: o}) }, err
		},
		"sharding": func(g *dist.Group) (func() error, error) {
			m, err := tower(g.Device(), whole)
			return func() error { _, err := dist.NewFullyShardedDataParallel(g, m); return err }, err
		},
		"values": func(g *dist.Group) (func() error, error) {
			return func() error { _, err := g.Values(context.Background(), dist.Sum, 1, 2); return err }, nil
		},
		"split": func(g *dist.Group) (func() error, error) {
			return func() error { _, err := g.Split(-1, 0); return err }, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("SINTER_NO_MEMORY_CACHING", "1") // so that every tensor is an allocation
			failures := 0
			for k := 1; ; k++ {
				simulated := sim.New(sim.Config{Devices: n, Run: optest.OnCPU})
				device.Install(simulated)
				errs := together(t, accelerators(t, n), func(g *dist.Group) error {
					do, err := what(g)
					if err = errors.Join(err, g.Barrier().Synchronize(context.Background())); err != nil {
						return fmt.Errorf("before: %w", err)
					}
					if g.Rank() == short {
						if err := simulated.Fail(g.Device().Index, sim.FaultAlloc, k, full); err != nil {
							return err
						}
					}
					err = do()
					if g.Rank() == short {
						simulated.Fail(g.Device().Index, sim.FaultAlloc, 1<<30, full)
					}
					return err
				})
				if errors.Join(errs...) == nil {
					break
				}
				failures++
				for rank, err := range errs {
					if err == nil || !strings.Contains(err.Error(), full.Error()) || rank != short && !strings.Contains(err.Error(), fmt.Sprint("rank ", short)) {
						t.Fatalf("allocation %d fails on rank %d; rank %d: %v", k, short, rank, err)
					}
				}
			}
			if failures == 0 {
				t.Error("nothing failed")
			}
		})
	}
}

// stepped returns a divided optimizer that made a step.
func stepped(g *dist.Group, elements int) (*dist.ShardedOptimizer, error) {
	p := nn.NewParameter(tensor.Ones([]int{elements}, tensor.On(g.Device())))
	o, err := dist.NewShardedOptimizer(g, []*nn.Parameter{p}, builders["adam"])
	if err == nil {
		err = p.SetGrad(tensor.Ones([]int{elements}, tensor.On(g.Device())))
	}
	if err == nil {
		err = o.Step()
	}
	return o, err
}
