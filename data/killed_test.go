package data_test

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/sinter-go/sinter/data"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/tests/self"
)

var (
	seed  = flag.Uint64("seed", 1, "when saves are killed")
	kills = flag.Int("kills", 4, "saves that are killed, of each form")
)

// A saver saves tensors in one of the ways that there are.
type saver struct {
	name string
	save func(path string, t map[string]tensor.Tensor) error
	load func(path string) (map[string]tensor.Tensor, error)
}

var savers = []saver{
	{"tensors", func(path string, t map[string]tensor.Tensor) error { return data.SaveTensors(path, t) },
		func(path string) (map[string]tensor.Tensor, error) {
			t, _, err := data.LoadTensors(path, device.CPU)
			return t, err
		}},
	{"arrays", func(path string, t map[string]tensor.Tensor) error { return data.SaveArrays(path, t) },
		func(path string) (map[string]tensor.Tensor, error) { return data.LoadArrays(path, device.CPU) }},
	{"array", func(path string, t map[string]tensor.Tensor) error { return data.SaveArray(path, t["a"]) },
		func(path string) (map[string]tensor.Tensor, error) {
			t, err := data.LoadArray(path, device.CPU)
			return map[string]tensor.Tensor{"a": t}, err
		}},
}

// numbered are tensors whose elements are all n.
func numbered(n int) map[string]tensor.Tensor {
	return map[string]tensor.Tensor{
		"a": tensor.Full([]int{300_000}, n, tensor.OfType(tensor.Float64)), "b": tensor.Full([]int{7}, n), "c": tensor.Full([]int{100, 100}, n),
	}
}

// savedPath names the variable by which the test has a process of its own save on and on.
const savedPath = "SINTER_TEST_SAVED"

// TestSaveKilled kills processes while they save, at any moment, and reads what is there: a
// whole file, that of the last save which returned or of the one after it. The next save
// leaves nothing but its file.
func TestSaveKilled(t *testing.T) {
	if path := os.Getenv(savedPath); path != "" {
		saveOn(path)
	}
	if testing.Short() {
		t.Skip("starts many processes")
	}
	for _, s := range savers {
		t.Run(s.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(*seed, uint64(len(s.name))))
			for range *kills {
				killed(t, s, r)
			}
		})
	}
}

// saveOn saves until the process is killed, and says each number that it has saved.
func saveOn(path string) {
	for _, s := range savers {
		if s.name != filepath.Base(path) {
			continue
		}
		for n := 1; ; n++ {
			if err := tensor.Scope(func() error { return s.save(path, numbered(n)) }); err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
			fmt.Println(n)
		}
	}
	os.Exit(1)
}

// killed kills a process that saves by s at a moment that r draws.
func killed(t *testing.T, s saver, r *rand.Rand) {
	dir := t.TempDir()
	path := filepath.Join(dir, s.name)
	child := self.Command(t, []string{savedPath + "=" + path}, "-test.run=^TestSaveKilled$")
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines, last := bufio.NewScanner(out), 0
	var took time.Duration // from one save to the next
	for want := 2 + r.IntN(3); last < want; {
		began := time.Now()
		if !lines.Scan() {
			t.Fatalf("the process that saves ended after %d saves: %v", last, child.Wait())
		}
		if last, err = strconv.Atoi(lines.Text()); err != nil {
			t.Fatalf("the process that saves says %q", lines.Text())
		}
		took = time.Since(began)
	}
	time.Sleep(time.Duration(r.Float64() * 1.5 * float64(took)))
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() { // what it said meanwhile
		if n, err := strconv.Atoi(lines.Text()); err == nil {
			last = n
		}
	}
	_ = child.Wait() // it was killed
	if err := tensor.Scope(func() error { return whole(s, path, last) }); err != nil {
		t.Errorf("killed after save %d: %v", last, err)
	}
	if err := s.save(path, numbered(9)); err != nil {
		t.Errorf("a save after the killed one: %v", err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("files after the save behind a killed one: %v, %v", files, err)
	}
}

// whole checks that a file has all of what save last, or the one after it, saved.
func whole(s saver, path string, last int) error {
	got, err := s.load(path)
	if err != nil {
		return err
	}
	number := 0.0
	for name, x := range got {
		elements, err := tensor.Data[float64](x.ToType(tensor.Float64))
		if err != nil {
			return err
		}
		lo, hi := slices.Min(elements), slices.Max(elements)
		if lo != hi || number != 0 && lo != number || lo < float64(last) || lo > float64(last+1) {
			return fmt.Errorf("%s has elements from %v to %v beside those of %v", name, lo, hi, number)
		}
		number = lo
	}
	if len(got) == 0 {
		return errors.New("no tensors")
	}
	return nil
}
