//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package fileio

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/tests/self"
)

// TestKilled kills a process in the middle of a save. The old file is as it was, and the next
// save of that file removes what the killed one left, and nothing else.
func TestKilled(t *testing.T) {
	const variable = "SINTER_TEST_KILLED"
	if path := os.Getenv(variable); path != "" {
		t.Error(WriteFile(path, func(w io.Writer) error {
			if _, err := w.Write(make([]byte, 1<<20)); err != nil {
				return err
			}
			os.Stdout.WriteString("half\n")
			_, err := io.Copy(io.Discard, os.Stdin) // until it is killed
			return err
		}))
		return
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "model")
	others := []string{".model.0123456789abcdef", ".model.0123456789ABCDEF.tmp", ".models.0123456789abcdef.tmp", "model.0123456789abcdef.tmp"}
	for _, name := range append([]string{"model"}, others...) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	const victims = 2
	for range victims {
		killHalf(t, self.Command(t, []string{variable + "=" + path}, "-test.run=^TestKilled$"))
	}
	if got, err := os.ReadFile(path); string(got) != "model" {
		t.Errorf("the file is %.20q after kills, error %v", got, err)
	}
	// the second victim has removed what the first left
	if left := names(t, dir); len(left) != len(others)+2 {
		t.Errorf("after %d kills there are %v", victims, left)
	}
	if err := WriteFile(filepath.Join(dir, "another"), put("x")); err != nil || len(names(t, dir)) != len(others)+3 {
		t.Errorf("the save of another file left %v, error %v", names(t, dir), err)
	}
	if err := WriteFile(path, put("new")); err != nil {
		t.Error(err)
	}
	want := map[string]bool{"model": true, "another": true}
	for _, name := range others {
		want[name] = true
	}
	if diff := cmp.Diff(want, names(t, dir)); diff != "" {
		t.Errorf("files after the next save (-want +got):\n%s", diff)
	}
}

// killHalf starts a command and kills it when it has written something.
func killHalf(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if _, err := cmd.StdinPipe(); err != nil { // open as long as the process is there
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var word [5]byte
	if _, err := io.ReadFull(out, word[:]); err != nil || string(word[:]) != "half\n" {
		t.Errorf("the process wrote %q, error %v", word, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait()
}

// names returns the names of the files in dir.
func names(t *testing.T, dir string) map[string]bool {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for _, e := range entries {
		out[e.Name()] = true
	}
	return out
}

// TestSavesAtOnce has many goroutines save the same file, each of which looks for what others
// left: none takes away the file of one under way.
func TestSavesAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				if err := WriteFile(path, put("all of it")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got, err := os.ReadFile(path); string(got) != "all of it" {
		t.Errorf("the file is %q, error %v", got, err)
	}
	if left := names(t, filepath.Dir(path)); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}
