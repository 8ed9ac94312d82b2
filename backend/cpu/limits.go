package cpu

import (
	"math"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// room returns how many bytes the process can still take before the system refuses
// memory or ends the process, and how many it may have in all: the least of what the
// machine has, what the control groups it is in allow, and what is left of its address
// space. known is false where the system says nothing of it.
func room() (free, total int64, known bool) { return roomUnder("/") }

// roomUnder is room with the system's files under root.
func roomUnder(root string) (free, total int64, known bool) {
	free, total = math.MaxInt64, math.MaxInt64
	least := func(f, t int64) { free, total, known = min(free, max(f, 0)), min(total, t), true }
	info := path.Join(root, "proc/meminfo")
	swap := kib(info, "SwapFree")
	if t := kib(info, "MemTotal"); t > 0 {
		least(kib(info, "MemAvailable")+swap, t)
	}
	for _, g := range groupsOf(root) {
		if f, t, limited := g.room(swap); limited {
			least(f, t)
		}
	}
	if limit, limited := addressLimit(); limited {
		least(limit-kib(path.Join(root, "proc/self/status"), "VmSize"), limit)
	}
	return free, total, known
}

// A group is a control group that limits memory, by its directory.
type group struct {
	dir    string
	second bool // of version 2 of control groups
}

// groupsOf returns the groups that the process is in, with those these are in: the
// limits of all of them hold.
func groupsOf(root string) (list []group) {
	data, _ := os.ReadFile(path.Join(root, "proc/self/cgroup"))
	for line := range strings.Lines(string(data)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		second := fields[0] == "0" && fields[1] == ""
		if !second && !strings.Contains(","+fields[1]+",", ",memory,") {
			continue
		}
		for _, mount := range mountsOf(root, second) {
			// A process that sees a part of the tree is told its group by the path in
			// the whole one, or from where its own part begins.
			inside, under := strings.CutPrefix(fields[2]+"/", strings.TrimSuffix(mount.top, "/")+"/")
			if !under {
				inside = fields[2]
			}
			for at := path.Join("/", inside); ; at = path.Dir(at) {
				list = append(list, group{path.Join(root, mount.dir, at), second})
				if at == "/" {
					break
				}
			}
		}
	}
	return list
}

// A mount is where a tree of control groups is to be found.
type mount struct{ top, dir string }

// mountsOf returns where the trees of a version are that say something of memory.
func mountsOf(root string, second bool) (list []mount) {
	data, _ := os.ReadFile(path.Join(root, "proc/self/mountinfo"))
	for line := range strings.Lines(string(data)) {
		before, after, found := strings.Cut(strings.TrimSpace(line), " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if !found || len(left) < 5 || len(right) < 1 {
			continue
		}
		first := right[0] == "cgroup" && len(right) > 2 && strings.Contains(","+right[2]+",", ",memory,")
		if second && right[0] == "cgroup2" || !second && first {
			list = append(list, mount{octal(left[3]), octal(left[4])})
		}
	}
	return list
}

// octal puts back the characters that /proc writes as \ooo.
func octal(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// room returns what a group leaves and allows. Pages of files that nobody has open or
// changed lately are given back before the limit is enforced, and count as free. Beyond
// memory.high a process is slowed down to almost nothing, so that it is a limit too.
func (g group) room(swap int64) (free, total int64, limited bool) {
	limits, usage, inactive, swaps := []string{"memory.max", "memory.high"}, "memory.current", "inactive_file", "memory.swap."
	if !g.second {
		limits, usage, inactive, swaps = []string{"memory.limit_in_bytes"}, "memory.usage_in_bytes", "total_inactive_file", ""
	}
	limit := int64(math.MaxInt64)
	for _, name := range limits {
		if n, ok := g.number(name); ok {
			limit = min(limit, n)
		}
	}
	used, ok := g.number(usage)
	if !ok || limit >= math.MaxInt64>>1 { // version 1 has no word for none
		return 0, 0, false
	}
	free = limit - used + g.stat(inactive)
	if most, ok := g.number(swaps + "max"); ok && swaps != "" && swap > 0 {
		taken, _ := g.number(swaps + "current")
		free += min(swap, max(most-taken, 0))
	}
	return free, limit, true
}

// number reads a file of one number; "max" is none.
func (g group) number(name string) (int64, bool) {
	data, err := os.ReadFile(filepath.Join(g.dir, name))
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(data)), 10, 64)
	if err != nil {
		return 0, false
	}
	return int64(min(n, math.MaxInt64)), true
}

// stat returns a number of memory.stat, or 0.
func (g group) stat(name string) int64 {
	data, _ := os.ReadFile(filepath.Join(g.dir, "memory.stat"))
	for line := range strings.Lines(string(data)) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok && key == name {
			n, _ := strconv.ParseInt(value, 10, 64)
			return n
		}
	}
	return 0
}
