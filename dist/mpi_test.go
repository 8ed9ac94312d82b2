package dist_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sinter-go/sinter/backend/cuda/driver/dl"
	"github.com/sinter-go/sinter/backend/mpi"
	"github.com/sinter-go/sinter/dist"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/precision"
	"github.com/sinter-go/sinter/tests/self"
)

// role is the variable that has this program be one of the ranks of a test.
const role = "SINTER_TEST_ROLE"

// deviceOfRoles is where roles compute that do not name another device.
var deviceOfRoles = device.CPU

// roles are what ranks do, by name. An error is printed, and the program ends with 1.
var roles = map[string]func(g *dist.Group) error{}

// act plays a role, if the environment names one, and does not return then.
func act() {
	name := os.Getenv(role)
	if name == "" {
		return
	}
	if do := lone[name]; do != nil {
		if err := do(); err != nil {
			fmt.Printf("failed: %v\n", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	dev, timeout := deviceOfRoles, time.Hour
	on := ""
	if at := strings.LastIndex(name, " on "); at >= 0 && !strings.HasSuffix(name, " alone") {
		name, on = name[:at], name[at+4:]
	}
	switch on {
	case "sim":
		dev = device.Sim(0)
	case "cuda":
		e, err := dist.FromEnvironment()
		if err != nil {
			fmt.Printf("failed: %v\n", err)
			os.Exit(1)
		}
		dev = device.CUDA(e.LocalRank)
		precision.SetMatmulTF32(false) // as exact as the CPU's
	}
	if given, err := time.ParseDuration(os.Getenv(role + "_TIMEOUT")); err == nil {
		timeout = given
	}
	g, err := dist.Init(context.Background(), tensor.On(dev), dist.Timeout(timeout))
	if err == nil {
		err = roles[name](g)
		if g.Err() == nil {
			err = errors.Join(err, g.Close(), dist.Finalize())
		}
	}
	if err != nil {
		fmt.Printf("failed: %v\n", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// unready is why mpiexec cannot run ranks of this program, "" where it can: there is none,
// it starts nothing (Open MPI's refuses root), or its MPI lacks the standard ABI.
var unready = sync.OnceValue(func() string {
	const missing = "needs an mpiexec whose MPI has the standard ABI (pip install mpich)"
	program, err := exec.LookPath("mpiexec")
	if err != nil {
		return missing
	}
	path, err := self.Find()
	if err != nil {
		return err.Error()
	}
	c := exec.Command(program, "-n", "1", path)
	c.Env = append(os.Environ(), role+"=open MPI")
	switch said, _ := c.CombinedOutput(); {
	case !bytes.Contains(said, []byte(started)):
		return fmt.Sprintf("%s starts nothing: %s", program, bytes.TrimSpace(said))
	case bytes.Contains(said, []byte("no shared library found")), bytes.Contains(said, []byte(dl.ErrUnsupported.Error())):
		return missing
	}
	return ""
})

// started is what a rank prints that mpiexec did start.
const started = "a rank has started"

func init() {
	lone["open MPI"] = func() error {
		fmt.Println(started)
		c, err := mpi.New(device.CPU, time.Hour)
		if err != nil {
			return err
		}
		return errors.Join(c.Close(), mpi.Finalize())
	}
}

// needMPI skips where mpiexec cannot run this program.
func needMPI(t *testing.T) {
	t.Helper()
	if why := unready(); why != "" {
		t.Skip(why)
	}
}

// mpiexec runs n ranks of this program in a role, and returns what they print. The test is
// skipped where it cannot.
func mpiexec(t *testing.T, n int, name string) (string, error) {
	t.Helper()
	return launch(t, []string{"mpiexec"}, n, name)
}

// launch is mpiexec with another launcher or with flags of it.
func launch(t *testing.T, launcher []string, n int, name string, env ...string) (string, error) {
	t.Helper()
	needMPI(t)
	program, err := exec.LookPath(launcher[0])
	if err != nil {
		t.Skipf("needs %s (pip install mpich)", launcher[0])
	}
	c := exec.CommandContext(t.Context(), program, append(append([]string{}, launcher[1:]...), "-n", fmt.Sprint(n), self.Path(t))...)
	c.Env = append(append(os.Environ(), role+"="+name, "NCCL_NVLS_ENABLE=0"), env...)
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	err = c.Run()
	return out.String(), err
}

func init() {
	roles["collectives"] = func(g *dist.Group) error {
		var note notes
		for _, c := range trials() {
			if err := c.try(&note, g); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
		if err := dtypes(&note, g); err != nil {
			return err
		}
		return note.err()
	}
}

// notes stand for a test in a rank's process.
type notes struct {
	testing.TB
	list []string
}

func (n *notes) Helper() {}
func (n *notes) Errorf(format string, args ...any) {
	n.list = append(n.list, fmt.Sprintf(format, args...))
}
func (n *notes) Fatal(args ...any) { panic(fmt.Sprint(args...)) }

func (n *notes) err() error {
	if len(n.list) == 0 {
		return nil
	}
	return errors.New(strings.Join(n.list, "\n"))
}

// TestMPI makes every call between processes.
func TestMPI(t *testing.T) {
	for _, n := range []int{1, 2, 3} {
		for _, name := range []string{"collectives", "collectives on sim"} {
			t.Run(fmt.Sprint(name, n), func(t *testing.T) {
				if out, err := mpiexec(t, n, name); err != nil {
					t.Errorf("%v\n%s", err, out)
				}
			})
		}
	}
}

func init() {
	roles["another call"] = func(g *dist.Group) error {
		x := tensor.Ones([]int{2, 3}, tensor.On(g.Device()))
		if g.Rank() == 1 {
			return g.Broadcast(x, 1).Synchronize(context.Background())
		}
		return g.AllReduce(x, dist.Sum).Synchronize(context.Background())
	}
	roles["another message"] = func(g *dist.Group) error {
		x := tensor.Ones([]int{2, 3}, tensor.On(g.Device()))
		if g.Rank() == 1 {
			return g.Send(x, 0).Synchronize(context.Background())
		}
		return g.Receive(x.Narrow(0, 0, 1).ToType(tensor.Float64), 1).Synchronize(context.Background())
	}
	roles["stay away"] = func(g *dist.Group) error {
		x := tensor.Ones([]int{4}, tensor.On(g.Device()))
		if g.Rank() == 1 { // it leaves by itself: a launcher now and then forgets those that are left
			for noteless() {
				time.Sleep(time.Millisecond)
			}
			os.Exit(1)
		}
		y, first := x.Clone(), g.AllReduce(x, dist.Sum)
		behind := g.AllReduce(y, dist.Sum)
		err := first.Synchronize(context.Background())
		_ = behind.Synchronize(context.Background()) // it fails as the first one does
		fmt.Println(err)                             // before rank 1 leaves, at which the launcher ends this one
		if again, failed := reused(x); failed != nil || again {
			fmt.Println("what MPI may be at is another tensor's:", again, failed)
		} else {
			fmt.Println("the memory is kept")
		}
		if again, failed := reused(y); failed == nil && again {
			fmt.Println("that of the call behind it is not")
		}
		note("%v", err)
		return err
	}
	roles["die"] = func(g *dist.Group) error {
		signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT) // which the launcher sends those that are left
		x := tensor.Ones([]int{4 << 20}, tensor.On(g.Device()))
		for {
			w := g.AllReduce(x, dist.Average)
			if g.Rank() == 1 {
				self, err := os.FindProcess(os.Getpid())
				if err == nil {
					err = self.Kill()
				}
				if err != nil {
					return err
				}
			}
			if err := w.Synchronize(context.Background()); err != nil {
				return err
			}
		}
	}
	roles["train"] = func(g *dist.Group) error {
		var note notes
		var replica any
		err := train(&note, g, true, func(d *dist.DistributedDataParallel, step int) error {
			replica = d.Model
			x, y := share(g, step)
			return loss(d, x, y).Backward()
		}, dist.BucketBytes(100))
		if err == nil {
			near(&note, "parameters", parameters(&note, replica), alone(&note, true), bound)
			err = note.err()
		}
		return err
	}
}

// TestMPIFaults has a rank go wrong. The others say who did, and in which call.
func TestMPIFaults(t *testing.T) {
	plain, keep := []string{"mpiexec"}, []string{"mpiexec", "-disable-auto-cleanup"}
	for _, c := range []struct {
		name, timeout string
		launcher      []string
		texts         []string
	}{
		{"another call", "1h", keep, []string{
			"dist: rank 0: call 1 of the group: the ranks make different calls: rank 0 makes all-reduce(sum) of float32 [2 3], rank 1 broadcast of float32 [2 3] from rank 1",
			"dist: rank 1: call 1 of the group: the ranks make different calls"}},
		{"another message", "1h", plain, []string{"rank 0 makes receive of float64 [1 3] from rank 1, rank 1 a send of float32 [2 3]"}},
		{"stay away", "200ms", plain, []string{
			"dist: rank 0: all-reduce(sum) of float32 [4], call 1 of the group: rank 0 waited 200ms for the others: timeout", "the memory is kept\nthat of the call behind it is not"}},
		// This launcher lets those that are left go on for a moment, if they want to.
		{"die", "100ms", []string{"mpiexec.gforker"}, []string{
			"failed: dist: rank 0: all-reduce(average) of float32 [4194304]", "waited 100ms for the others", "Killed"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			notes := noteVariable + "=" + filepath.Join(t.TempDir(), "notes")
			out, _ := launch(t, c.launcher, 2, c.name, role+"_TIMEOUT="+c.timeout, notes)
			for _, text := range c.texts {
				if !strings.Contains(out, text) {
					t.Errorf("%q is not in\n%s", text, out)
				}
			}
		})
	}
}

// TestMPITraining compares replicas in processes with one model.
func TestMPITraining(t *testing.T) {
	for _, n := range []int{2, 3} {
		for _, name := range []string{"train", "train on sim"} {
			if out, err := mpiexec(t, n, name); err != nil {
				t.Errorf("%d ranks, %s: %v\n%s", n, name, err, out)
			}
		}
	}
}

// reused releases a tensor, and reports whether one of those that are made then has its memory.
func reused(x tensor.Tensor) (bool, error) {
	op := &ir.Op{Name: "place"}
	was, err := core.Lend(op, x.Handle(), 0, false)
	x.Release()
	for range 100 {
		y := tensor.Ones(was.Shape)
		now, lent := core.Lend(op, y.Handle(), 0, false)
		if err = errors.Join(err, lent); err != nil || now.Ptr == was.Ptr {
			return true, err
		}
	}
	return false, nil
}
