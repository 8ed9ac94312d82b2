package dist_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	files "github.com/sinter-go/sinter/data"
	"github.com/sinter-go/sinter/dist"
	"github.com/sinter-go/sinter/optim/checkpoint"
	"github.com/sinter-go/sinter/runtime/device"
)

// resumed is what a checkpoint is of, and what of it decides what comes.
type resumed struct {
	checkpoint.State
	step func(i int) error
	look func() (map[string][]float64, error)
}

// trainings are the ways to train whose checkpoints ranks load together.
var trainings = map[string]func(t testing.TB, g *dist.Group) (resumed, error){
	"replicas":          func(t testing.TB, g *dist.Group) (resumed, error) { return replicated(t, g, false) },
	"divided optimizer": func(t testing.TB, g *dist.Group) (resumed, error) { return replicated(t, g, true) },
	"fully sharded": func(t testing.TB, g *dist.Group) (resumed, error) {
		d, o, err := newTower(g, "adam")
		step := func(i int) error { return towerSteps(g, d, o, i, i+1) }
		return resumed{checkpoint.State{Model: d, Optimizer: o}, step, func() (out map[string][]float64, err error) {
			out = state(t, o)
			err = d.Gathered(func() error {
				for name, v := range parameters(t, d) {
					out["model "+name] = v
				}
				return nil
			})
			return out, err
		}}, err
	},
}

func replicated(t testing.TB, g *dist.Group, divided bool) (resumed, error) {
	r, err := newRun(g, "adam", divided)
	step := func(i int) error { return r.steps(g, i, i+1) }
	return resumed{checkpoint.State{Model: r.model, Optimizer: r.optimizer}, step, func() (map[string][]float64, error) {
		out := state(t, r.optimizer)
		for name, v := range parameters(t, r.model) {
			out["model "+name] = v
		}
		return out, nil
	}}, err
}

// TestLoadTogether has one rank fail to load, as it reads its file, compares it, or puts it: all ranks have its error, and
// are as they were. Then they load what is whole.
func TestLoadTogether(t *testing.T) {
	const n, short = 2, 1
	without := func(part string) func(t testing.TB, from, to string) {
		return func(t testing.TB, from, to string) {
			tensors, metadata, err := files.LoadTensors(from, device.CPU)
			must(t, err)
			maps.DeleteFunc(tensors, func(name string, _ T) bool { return strings.Contains(name, part) })
			must(t, files.SaveTensors(to, tensors, files.Metadata(metadata)))
		}
	}
	spoils := []struct {
		name string
		make func(t testing.TB, from, to string)
		text string
	}{
		{"cut off", func(t testing.TB, from, to string) {
			raw, err := os.ReadFile(from)
			must(t, err)
			must(t, os.WriteFile(to, raw[:len(raw)-8], 0o600))
		}, "cut off"},
		{"without parameters", without("model."), "it holds no state of the model"},
		{"without moments", without("first_moment"), "first_moment"},
	}
	for name, begin := range trainings {
		each(t, n, func(t *testing.T, devices []device.Device) {
			dir := t.TempDir()
			path := filepath.Join(dir, "run")
			must(t, errors.Join(together(t, devices, func(g *dist.Group) error {
				run, err := begin(t, g)
				if err == nil {
					err = run.step(0)
				}
				if err == nil {
					err = dist.SaveCheckpoint(g, path, run.State)
				}
				if err != nil {
					return err
				}
				saved, err := run.look()
				if err == nil {
					err = run.step(1)
				}
				if err != nil {
					return err
				}
				was, err := run.look()
				if err != nil {
					return err
				}
				for _, spoil := range spoils {
					from := path
					if g.Rank() == short {
						from = filepath.Join(dir, spoil.name)
						spoil.make(t, path, from)
					}
					_, err := dist.LoadCheckpoint(g, from, run.State)
					contains(t, err, spoil.text)
					if g.Rank() != short {
						contains(t, err, fmt.Sprint("rank ", short, ": "))
					}
					is, err := run.look()
					if err != nil {
						return err
					}
					if diff := cmp.Diff(was, is); diff != "" {
						t.Errorf("%s: a file %s on rank %d changes rank %d: %s", name, spoil.name, short, g.Rank(), diff)
					}
				}
				if _, err := dist.LoadCheckpoint(g, path, run.State); err != nil {
					return err
				}
				is, err := run.look()
				if diff := cmp.Diff(saved, is); diff != "" {
					t.Errorf("%s: rank %d has loaded something else: %s", name, g.Rank(), diff)
				}
				return errors.Join(err, g.Barrier().Synchronize(context.Background()))
			})...))
		})
	}
}
