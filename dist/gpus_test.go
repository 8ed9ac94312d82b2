package dist_test

import (
	"context"
	"errors"
	"fmt"
	sockets "net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sinter-go/sinter/dist"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/stream"
	"github.com/sinter-go/sinter/tests/patience"
	"github.com/sinter-go/sinter/tests/self"
)

// processes starts n ranks of this program in a role, as torchrun does, and lets those that
// are left go on when one ends. It returns what each printed.
func processes(t *testing.T, n int, name string, env ...string) (said []string) {
	t.Helper()
	l, err := sockets.Listen("tcp", "127.0.0.1:0") // a port that is free
	must(t, err)
	_, port, err := sockets.SplitHostPort(l.Addr().String())
	must(t, errors.Join(err, l.Close()))
	said = make([]string, n)
	var all sync.WaitGroup
	for rank := range n {
		c := self.Command(t, append([]string{role + "=" + name, fmt.Sprint("RANK=", rank), fmt.Sprint("WORLD_SIZE=", n),
			fmt.Sprint("LOCAL_RANK=", rank), fmt.Sprint("LOCAL_WORLD_SIZE=", n),
			"MASTER_ADDR=127.0.0.1", "MASTER_PORT=" + port, "SINTER_DIST_SECRET=of the test", "NCCL_NVLS_ENABLE=0"}, env...))
		all.Go(func() {
			out, err := c.CombinedOutput()
			said[rank] = fmt.Sprintf("%s(%v)", out, err)
		})
	}
	all.Wait()
	return said
}

// onGPUs skips what shows processes with a GPU each where there are fewer than n.
func onGPUs(t *testing.T, n int) {
	t.Helper()
	if *kindName != "cuda" {
		t.Skip("shows processes with GPUs: -kind cuda")
	}
	accelerators(t, n)
}

// TestProcesses makes every call, and trains, by processes with a GPU each.
func TestProcesses(t *testing.T) {
	onGPUs(t, 2)
	for _, name := range []string{"collectives on cuda", "train on cuda"} {
		for rank, out := range processes(t, 2, name) {
			equal(t, fmt.Sprintf("%s, what rank %d says", name, rank), out, "(<nil>)")
		}
	}
}

// TestTorchrunGPUs does so by PyTorch's launcher.
func TestTorchrunGPUs(t *testing.T) {
	onGPUs(t, 2)
	if exec.Command("python3", "-c", "import torch.distributed.run").Run() != nil {
		t.Skip("needs PyTorch for python3")
	}
	c := exec.CommandContext(t.Context(), "python3", "-m", "torch.distributed.run", "--no-python", "--standalone", "--nproc-per-node", "2", self.Path(t))
	c.Env = append(os.Environ(), "OMP_NUM_THREADS=1", "NCCL_NVLS_ENABLE=0", role+"=train on cuda")
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func init() {
	// A rank is killed in the middle of an all-reduce. The other one is told, and makes a
	// group of those that are left.
	roles["go on alone"] = func(g *dist.Group) error {
		failed := roles["die"](g)
		fmt.Println(failed)
		if err := g.Close(); err != nil && err.Error() != failed.Error() {
			fmt.Println("closing:", err)
		}
		return dist.Run([]device.Device{g.Device()}, func(left *dist.Group) error {
			x := tensor.Ones([]int{1000}, tensor.On(left.Device()))
			if err := left.AllReduce(x, dist.Sum).Synchronize(context.Background()); err != nil {
				return err
			}
			sum, err := x.Sum().Item()
			fmt.Println("alone:", sum)
			return err
		})
	}
}

// TestProcessKilled has a rank be killed in the middle of an all-reduce between GPUs: the
// other one is told at once, and by whom.
func TestProcessKilled(t *testing.T) {
	onGPUs(t, 2)
	began := time.Now()
	said := processes(t, 2, "go on alone on cuda", role+"_TIMEOUT=1h")
	for _, text := range []string{"dist: rank 0: all-reduce(average) of float32 [4194304]: rank 1 is gone", "alone: 1000"} {
		if !strings.Contains(said[0], text) {
			t.Errorf("%q is not in\n%s", text, said[0])
		}
	}
	contains(t, errors.New(said[1]), "killed")
	t.Logf("after %v rank 0 says\n%s", time.Since(began), said[0])
}

// TestProcessStaysAway has a rank not come to a call between GPUs.
func TestProcessStaysAway(t *testing.T) {
	onGPUs(t, 2)
	var said []string
	timeout := 3 * time.Second
	for ; timeout < patience.Left(t); timeout *= 2 {
		noted(t, "stay away on cuda")
		said = processes(t, 2, "stay away on cuda", role+"_TIMEOUT="+timeout.String())
		if !strings.Contains(said[0], "joining the group") { // which takes as long on a busy machine
			break
		}
	}
	contains(t, errors.New(said[0]), "dist: rank 0: all-reduce(sum) of float32 [4]")
	contains(t, errors.New(said[0]), fmt.Sprintf("rank 0 waited %v for the others: rank 1 did not come: timeout", timeout))
}

func init() {
	// A rank makes a call of another shape than the other one.
	roles["differ"] = func(g *dist.Group) error {
		x := tensor.Ones([]int{4 + g.Rank()}, tensor.On(g.Device()))
		err := g.AllReduce(x, dist.Sum).Synchronize(context.Background())
		for err == nil { // the library may take it for the same
			err = g.Barrier().Synchronize(context.Background())
		}
		fmt.Println(err)
		return nil
	}
}

// TestProcessDiffers: every rank is told which rank makes which call.
func TestProcessDiffers(t *testing.T) {
	onGPUs(t, 2)
	for _, said := range processes(t, 2, "differ on cuda", role+"_TIMEOUT=1h") {
		for rank := range 2 {
			contains(t, errors.New(said), fmt.Sprintf("all-reduce(sum) of float32 [%d]", 4+rank))
			contains(t, errors.New(said), fmt.Sprintf("rank %d", rank))
		}
		contains(t, errors.New(said), "the ranks make different calls")
	}
}

func init() {
	// The ranks replay two graphs, each in another order.
	roles["replay others"] = func(g *dist.Group) error {
		graphs, err := captureSums(g, 400, 500)
		if err != nil {
			return err
		}
		for err == nil { // what the GPU has ends as well
			err = errors.Join(graphs[g.Rank()].Replay(), stream.Current(g.Device()).Synchronize(context.Background()), g.Err())
		}
		fmt.Println(err)
		return nil
	}
}

// TestProcessReplaysOthers: every rank is told which rank replays which call.
func TestProcessReplaysOthers(t *testing.T) {
	onGPUs(t, 2)
	for _, said := range processes(t, 2, "replay others on cuda", role+"_TIMEOUT=1h") {
		contains(t, errors.New(said), "call 2 of the group: rank ")
		for rank := range 2 {
			contains(t, errors.New(said), fmt.Sprintf("all-reduce(sum) of float32 [%d]", 400+100*rank))
		}
		contains(t, errors.New(said), "the ranks make different calls")
	}
}

// TestElasticGPUs has a rank be killed in the middle of a run of two, and one process go on
// from the checkpoint, to where a run that was not interrupted comes.
func TestElasticGPUs(t *testing.T) {
	onGPUs(t, 2)
	left := noted(t, "elastic on cuda")
	said := processes(t, 2, "elastic on cuda", role+"_TIMEOUT=1h")
	contains(t, errors.New(said[0]), "rank 1 is gone")
	equal(t, "what the process says that goes on", processes(t, 1, "elastic on cuda")[0], "(<nil>)")
	wentOn(t, left(), device.CUDA(0))
}

// TestGroupsOfGPUs makes and closes groups, and finds the memory of the GPUs where it was.
func TestGroupsOfGPUs(t *testing.T) {
	onGPUs(t, 2)
	list := accelerators(t, 2)
	free := func() (sum int64) {
		for _, d := range list {
			_, drv, err := device.Find(d)
			must(t, err)
			n, _, err := drv.MemoryInfo(d.Index)
			must(t, err)
			sum += n
		}
		return sum
	}
	once := func() {
		must(t, dist.Run(list, func(g *dist.Group) error {
			x := tensor.Ones([]int{1 << 20}, tensor.On(g.Device()))
			defer x.Release() // dropped, it would be there until the collector comes
			return g.AllReduce(x, dist.Sum).Synchronize(context.Background())
		}))
	}
	for range 3 {
		once()
	}
	before := free()
	began := time.Now()
	const groups = 12
	for range groups {
		once()
	}
	if lost := before - free(); lost > 8<<20 {
		t.Errorf("%d groups took %d bytes for good", groups, lost)
	}
	t.Logf("%v a group", time.Since(began)/groups)
}

// TestSharedBetweenGPUs has a process open memory of a GPU that it computes on another than
// the maker.
func TestSharedBetweenGPUs(t *testing.T) {
	onGPUs(t, 2)
	sharing(t)
	s, err := dist.Share(tensor.Ones([]int{1000}, tensor.On(device.CUDA(1))))
	must(t, err)
	p := newPartner(t)
	equal(t, "open", p.ask("open %s", s.Name()), "done")
	equal(t, "what the other sees", p.ask("sum"), "1000")
	equal(t, "what the other sees on its own GPU", p.ask("sum on cuda"), "1000")
	must(t, s.Tensor().MulScalarInPlace(2))
	must(t, s.Record())
	equal(t, "what the other sees of a change", p.ask("sum on cuda"), "2000")
	equal(t, "close", p.ask("close"), "done")
	must(t, s.Close())
}
