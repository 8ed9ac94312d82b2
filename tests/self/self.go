// Package self starts the program of a test once more, as a process of its own: with another
// environment, with limits, or to be killed. Where a program cannot start itself, the test is
// skipped: in js and wasip1, which have no processes, and on an emulated processor, where the
// system knows no such programs.
package self

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sinter-go/sinter/tests/patience"
)

// unstartable is the text of ENOEXEC, which package syscall does not have for every system.
const unstartable = "exec format error"

// find is Find's answer: the process is ended before it does anything.
var find = sync.OnceValues(func() (string, error) {
	path, err := os.Executable()
	if err == nil {
		c := exec.Command(path, "-test.run=^$") // no test, should it get that far
		if err = c.Start(); err == nil {
			_ = c.Process.Kill()
			_ = c.Wait() // it was killed
			return path, nil
		}
	}
	if errors.Is(err, errors.ErrUnsupported) || strings.Contains(err.Error(), unstartable) {
		err = fmt.Errorf("the program cannot start itself here: %w: %w", errors.ErrUnsupported, err)
	}
	return "", err
})

// Find returns the file of the program, for what has no test at hand. Where the program
// cannot start itself the error is errors.ErrUnsupported.
func Find() (string, error) { return find() }

// Path returns the file of the program, for what other programs start. It skips t where the
// program cannot start itself.
func Path(t testing.TB) string {
	t.Helper()
	path, err := Find()
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Command returns the program as a command, with variables beside those of the environment.
// The process is killed when t ends, or when it hangs for nearly as long as t may take. It
// skips t where the program cannot start itself.
func Command(t testing.TB, variables []string, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience.Left(t))
	t.Cleanup(cancel)
	c := exec.CommandContext(ctx, Path(t), args...)
	c.WaitDelay = time.Second // what it started may keep its output open
	c.Env = append(os.Environ(), variables...)
	return c
}
