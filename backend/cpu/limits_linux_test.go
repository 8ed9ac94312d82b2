package cpu

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/tests/self"
)

const giB = 1 << 30

// TestRoomUnder: the least of all limits holds, those of groups around the process's
// own too, whatever part of the tree it sees.
func TestRoomUnder(t *testing.T) {
	meminfo := "MemTotal: 67108864 kB\nMemAvailable: 33554432 kB\nSwapFree: 1048576 kB\n"
	v2 := "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n"
	v1 := "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n34 31 0:31 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
	num := func(n int64) string { return fmt.Sprintf("%d\n", n) }
	tests := []struct {
		name        string
		files       map[string]string
		free, total int64
	}{
		{"no group", map[string]string{"proc/meminfo": meminfo}, 33 * giB, 64 * giB},
		{"second version", map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a/b\n", "proc/self/mountinfo": v2,
			"sys/fs/cgroup/a/b/memory.max": num(2 * giB), "sys/fs/cgroup/a/b/memory.current": num(giB), "sys/fs/cgroup/a/b/memory.swap.max": "0\n",
		}, giB, 2 * giB},
		{"files in memory are free", map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a\n", "proc/self/mountinfo": v2,
			"sys/fs/cgroup/a/memory.max": num(4 * giB), "sys/fs/cgroup/a/memory.current": num(3 * giB), "sys/fs/cgroup/a/memory.swap.max": "0\n",
			"sys/fs/cgroup/a/memory.stat": "anon 5\ninactive_file " + num(2*giB),
		}, 3 * giB, 4 * giB},
		{"a group around", map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a/b\n", "proc/self/mountinfo": v2,
			"sys/fs/cgroup/a/b/memory.max": "max\n", "sys/fs/cgroup/a/b/memory.current": "0\n",
			"sys/fs/cgroup/a/memory.max": num(3 * giB), "sys/fs/cgroup/a/memory.current": num(giB), "sys/fs/cgroup/a/memory.swap.max": "0\n",
		}, 2 * giB, 3 * giB},
		{"high", map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "proc/self/mountinfo": v2,
			"sys/fs/cgroup/memory.max": num(8 * giB), "sys/fs/cgroup/memory.high": num(5 * giB), "sys/fs/cgroup/memory.current": num(giB),
			"sys/fs/cgroup/memory.swap.max": "max\n",
		}, 4 * giB, 5 * giB},
		{"swap", map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "proc/self/mountinfo": v2,
			"sys/fs/cgroup/memory.max": num(2 * giB), "sys/fs/cgroup/memory.current": num(giB),
			"sys/fs/cgroup/memory.swap.max": num(8 * giB), "sys/fs/cgroup/memory.swap.current": num(giB),
		}, 2 * giB, 2 * giB},
		{"overdrawn", map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "proc/self/mountinfo": v2,
			"sys/fs/cgroup/memory.max": num(giB), "sys/fs/cgroup/memory.current": num(2 * giB), "sys/fs/cgroup/memory.swap.max": "0\n",
		}, 0, giB},
		{"first version", map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "4:memory:/x/y\n3:cpu:/\n0::/\n", "proc/self/mountinfo": v1,
			"sys/fs/cgroup/memory/x/y/memory.limit_in_bytes": "9223372036854771712\n", "sys/fs/cgroup/memory/x/y/memory.usage_in_bytes": num(giB),
			"sys/fs/cgroup/memory/x/memory.limit_in_bytes": num(3 * giB), "sys/fs/cgroup/memory/x/memory.usage_in_bytes": num(2 * giB),
			"sys/fs/cgroup/memory/x/memory.stat": "total_inactive_file 1024\n",
		}, giB + 1024, 3 * giB},
		{"a part of the tree", map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "4:cpu,memory:/docker/abc/own\n",
			"proc/self/mountinfo":                            "35 31 0:32 /docker/abc /sys/fs/cgroup/cpu,memory ro - cgroup cgroup rw,cpu,memory\n",
			"sys/fs/cgroup/cpu,memory/memory.limit_in_bytes": num(6 * giB), "sys/fs/cgroup/cpu,memory/memory.usage_in_bytes": num(giB),
			"sys/fs/cgroup/cpu,memory/own/memory.limit_in_bytes": num(5 * giB), "sys/fs/cgroup/cpu,memory/own/memory.usage_in_bytes": num(giB),
		}, 4 * giB, 5 * giB},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			for name, text := range tt.files {
				path := filepath.Join(root, name)
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			if free, total, known := roomUnder(root); free != tt.free || total != tt.total || !known {
				t.Errorf("%d of %d bytes free, known: %t; want %d of %d", free, total, known, tt.free, tt.total)
			}
		})
	}
}

// TestLimits allocates more than the process may have, at once and in pieces, in
// processes with real limits: that is an error, and no end of the process. The limits
// are small, since tests beside this one need the machine's memory, too.
func TestLimits(t *testing.T) {
	if how := os.Getenv("SINTER_TEST_LIMITS"); how != "" {
		exhaust(how)
		return
	}
	self.Path(t)
	const addresses, memory = 2500 << 20, 400 << 20 // a Go program begins with 1.3 GB of addresses
	for _, how := range []string{"once", "pieces"} {
		t.Run("addresses/"+how, func(t *testing.T) {
			limitedChild(t, "addresses/"+how, fmt.Sprintf("ulimit -v %d", addresses>>10))
		})
		t.Run("control group/"+how, func(t *testing.T) {
			limitedChild(t, "group/"+how, enter(controlGroup(t, memory)))
		})
	}
}

func limitedChild(t *testing.T, how, limit string) {
	t.Helper()
	cmd := exec.Command("sh", "-c", limit+` && exec "$0" "$@"`, self.Path(t), "-test.run=^TestLimits$")
	cmd.Env = append(os.Environ(), "SINTER_TEST_LIMITS="+how)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "refused") {
		t.Errorf("%v\n%s", err, out[:min(len(out), 2000)])
	}
}

// exhaust allocates until there is an error, and writes what a group limits: memory in
// use, not addresses.
func exhaust(how string) {
	bytes := int64(4 * giB)
	if strings.HasSuffix(how, "/pieces") {
		bytes = 20 << 20
	}
	var d Driver
	var held []device.Memory
	for len(held) < 1000 {
		m, err := d.Alloc(0, bytes)
		if errors.Is(err, device.ErrOutOfMemory) {
			fmt.Println("refused:", err, "after", len(held))
			return
		}
		if err == nil && strings.HasPrefix(how, "group/") {
			err = d.Zero(0, 0, m, bytes)
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		held = append(held, m)
	}
	runtime.KeepAlive(held)
}

// controlGroup makes a group below the process's own, if this machine allows it.
func controlGroup(t *testing.T, limit int64) string {
	t.Helper()
	for _, g := range groupsOf("/") {
		dir := filepath.Join(g.dir, fmt.Sprintf("sinter-test-%d", os.Getpid()))
		if os.Mkdir(dir, 0o700) != nil {
			continue
		}
		t.Cleanup(func() { _ = os.Remove(dir) })
		name := "memory.limit_in_bytes"
		if g.second {
			name = "memory.max"
		}
		if os.WriteFile(filepath.Join(dir, name), fmt.Appendln(nil, limit), 0o600) == nil && exec.Command("sh", "-c", enter(dir)).Run() == nil {
			return dir
		}
	}
	t.Skip("no control group can be made here")
	return ""
}

// enter is the shell's command to go into a group, which a system may refuse though it
// let the group be made.
func enter(group string) string { return "echo $$ > " + filepath.Join(group, "cgroup.procs") }
