package dist_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sinter-go/sinter/dist"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim/checkpoint"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/tests/self"
)

// lone are what processes do that make no group of their own accord.
var lone = map[string]func() error{}

func init() {
	lone["exchange"] = func() error {
		e, err := dist.FromEnvironment()
		if err != nil {
			return err
		}
		value := []byte("................")
		if e.Rank == 0 {
			copy(value, "what rank 0 says")
		}
		if err := e.Exchange(context.Background(), value); err != nil {
			return err
		}
		note("%s: rank %d of %d, %d of %d here: %s", e.Launcher, e.Rank, e.Size, e.LocalRank, e.LocalSize, value)
		return nil
	}
	lone["init"] = func() error {
		g, err := dist.Init(context.Background(), tensor.On(device.CPU))
		if err == nil {
			err = errors.Join(fmt.Errorf("a group of %d", g.Size()), g.Close(), dist.Finalize())
		}
		note("%v", err)
		return nil
	}
	lone["one fails"] = func() error {
		e, err := dist.FromEnvironment()
		if err != nil {
			return err
		}
		if e.Rank == 1 {
			return errors.New("its disk is full")
		}
		time.Sleep(time.Hour) // until the launcher ends it; a select of nothing would be a deadlock
		return nil
	}
}

// noteVariable names the file that processes leave notes in.
const noteVariable = role + "_NOTES"

// note appends a line to the notes.
func note(format string, args ...any) {
	f, err := os.OpenFile(os.Getenv(noteVariable), os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	fmt.Fprintf(f, format+"\n", args...) // one write: lines stay whole
}

// noteless is whether nobody has left a note yet.
func noteless() bool {
	_, err := os.Stat(os.Getenv(noteVariable))
	return errors.Is(err, os.ErrNotExist)
}

// noted has this process's children play a role and leave notes; it returns what reads them.
func noted(t *testing.T, name string) func() string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "notes")
	t.Setenv(role, name)
	t.Setenv(noteVariable, path)
	return func() string {
		b, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		return string(b)
	}
}

// TestSpawnAlone starts processes as where there are GPUs: they learn their places, and meet.
func TestSpawnAlone(t *testing.T) {
	notes := noted(t, "exchange")
	must(t, dist.SpawnAlone(t.Context(), 3, self.Path(t)))
	for rank := range 3 {
		if want := fmt.Sprintf("torchrun: rank %d of 3, %d of 3 here: what rank 0 says\n", rank, rank); !strings.Contains(notes(), want) {
			t.Errorf("%q is not in\n%s", want, notes())
		}
	}
}

// TestSpawnAloneFails has a process fail: the others are ended, and the error names it.
func TestSpawnAloneFails(t *testing.T) {
	noted(t, "one fails")
	err := dist.SpawnAlone(t.Context(), 3, self.Path(t))
	contains(t, err, "rank 1: exit status 1")
	if strings.Contains(fmt.Sprint(err), "rank 0") {
		t.Errorf("those that were ended are in %v", err)
	}
}

// TestTorchrun starts processes by PyTorch's launcher. Without GPUs Init says what starts
// those that use MPI.
func TestTorchrun(t *testing.T) {
	launcher := []string{"python3", "-m", "torch.distributed.run"}
	if exec.Command(launcher[0], "-c", "import torch.distributed.run").Run() != nil {
		t.Skip("needs PyTorch for python3")
	}
	for name, want := range map[string]string{
		"exchange": "torchrun: rank 1 of 2, 1 of 2 here: what rank 0 says\n",
		"init":     "MPI cannot be used: SINTER_MPI is none",
	} {
		notes := noted(t, name)
		args := append(launcher[1:], "--no-python", "--standalone", "--nproc-per-node", "2", self.Path(t))
		c := exec.CommandContext(t.Context(), launcher[0], args...)
		c.Env = append(os.Environ(), "OMP_NUM_THREADS=1", "SINTER_MPI=none")
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		if !strings.Contains(notes(), want) {
			t.Errorf("%s: %q is not in\n%s", name, want, notes())
		}
	}
}

// spawned runs Spawn with what its processes print kept out of the test's output.
func spawned(t *testing.T, n int) (string, error) {
	t.Helper()
	r, w, err := os.Pipe()
	must(t, err)
	out, errs := os.Stdout, os.Stderr
	os.Stdout, os.Stderr = w, w
	var text bytes.Buffer
	done := make(chan error)
	go func() { _, err := io.Copy(&text, r); done <- err }()
	err = dist.Spawn(t.Context(), n)
	os.Stdout, os.Stderr = out, errs
	must(t, w.Close())
	must(t, <-done)
	return text.String(), err
}

// TestMPISpawn has this program start itself.
func TestMPISpawn(t *testing.T) {
	needMPI(t)
	t.Setenv(role, "train")
	if out, err := spawned(t, 2); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	t.Setenv("RANK", "0")
	t.Setenv("WORLD_SIZE", "2")
	if err := dist.Spawn(t.Context(), 2); !errors.Is(err, dist.ErrCall) {
		t.Errorf("in one of several processes: %v", err)
	}
}

func init() {
	roles["elastic"] = func(g *dist.Group) error {
		path := os.Getenv(noteVariable) + ".run"
		r, err := newRun(g, "adam", true)
		if err != nil {
			return err
		}
		state := checkpoint.State{Model: r.model, Optimizer: r.optimizer}
		from := 0
		if metadata, err := checkpoint.ReadMetadata(path); err == nil {
			if _, err := fmt.Sscan(metadata["step"], &from); err != nil {
				return err
			}
			if _, err := dist.LoadCheckpoint(g, path, state); err != nil {
				return err
			}
		}
		for step := from; step < steps; step++ {
			if g.Rank() == 0 {
				note("step %d from %d", step, from)
			}
			if err := r.steps(g, step, step+1); err != nil {
				return err
			}
			state.Metadata = map[string]string{"step": fmt.Sprint(step + 1)}
			if err := dist.SaveCheckpoint(g, path, state); err != nil {
				return err
			}
			if step == 1 && from == 0 && g.Rank() == 1 {
				return killSelf()
			}
		}
		if g.Rank() == 0 {
			for name, v := range parameters(&notes{}, r.model) {
				note("%s %v", name, v)
			}
		}
		return nil
	}
}

// killSelf ends this process as kill -9 does.
func killSelf() error {
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	if err := self.Kill(); err != nil {
		return err
	}
	time.Sleep(time.Hour) // until the signal arrives
	return nil
}

// TestMPIElastic has a rank be killed in the middle of a run, whose program starts all again:
// they go on from the checkpoint, to where a run that was not interrupted comes.
func TestMPIElastic(t *testing.T) {
	needMPI(t)
	left := noted(t, "elastic")
	t.Setenv(role+"_TIMEOUT", "1h") // a rank that is gone is named before
	tries := 0
	for err := error(nil); ; tries++ {
		var out string
		if out, err = spawned(t, 2); err == nil {
			break
		}
		if tries == 2 {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	if tries != 1 {
		t.Errorf("%d tries failed, want 1", tries)
	}
	wentOn(t, left(), deviceOfRoles)
}

// wentOn compares what the role "elastic" noted with a run that was not interrupted.
func wentOn(t *testing.T, noted string, d device.Device) {
	t.Helper()
	m, err := newNet(d, true)
	must(t, err)
	o, err := builders["adam"](nn.Parameters(m))
	must(t, err)
	for step := range steps {
		x, y := batch(step, rows, d)
		must(t, o.ZeroGrad())
		must(t, loss(m, x, y).Backward())
		must(t, o.Step())
	}
	got := map[string][]float64{}
	for line := range strings.Lines(noted) {
		name, numbers, _ := strings.Cut(strings.TrimSpace(line), " [")
		if !strings.HasSuffix(numbers, "]") {
			continue
		}
		for word := range strings.FieldsSeq(strings.TrimSuffix(numbers, "]")) {
			var v float64
			if _, err := fmt.Sscan(word, &v); err != nil {
				t.Fatal(err)
			}
			got[name] = append(got[name], v)
		}
	}
	near(t, "parameters", got, parameters(t, m), bound)
	contains(t, errors.New(noted), "step 2 from 2")
}
