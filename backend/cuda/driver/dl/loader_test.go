//go:build linux && !android && (amd64 || arm64) && !nocuda

package dl

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCandidates reads what /proc/self/maps says on several systems: the files that may have
// the loader's functions are found by the mapping of their first byte.
func TestCandidates(t *testing.T) {
	const program = "00400000-00a5f000 r-xp 00000000 08:01 42 /bin/libc.reader\n"
	for _, c := range []struct {
		name, maps string
		want       []object
	}{
		{"glibc 2.36", program + `7f10a0000000-7f10a0026000 r--p 00000000 08:01 77 /lib/x86_64-linux-gnu/libc.so.6
7f10a0026000-7f10a017b000 r-xp 00026000 08:01 77 /lib/x86_64-linux-gnu/libc.so.6
7f10a0200000-7f10a0201000 r--p 00000000 08:01 78 /lib/x86_64-linux-gnu/libdl.so.2
7f10a0300000-7f10a0301000 r--p 00000000 08:01 79 /lib/x86_64-linux-gnu/libcap.so.2
7ffd0a000000-7ffd0a021000 rw-p 00000000 00:00 0 [stack]
`, []object{{"/lib/x86_64-linux-gnu/libc.so.6", 0x7f10a0000000}, {"/lib/x86_64-linux-gnu/libdl.so.2", 0x7f10a0200000}}},
		{"glibc 2.28", program + `7f0000000000-7f0000001000 r-xp 00000000 fd:00 5 /usr/lib64/libdl-2.28.so
7f0000100000-7f00002b0000 r-xp 00000000 fd:00 6 /usr/lib64/libc-2.28.so
`, []object{{"/usr/lib64/libdl-2.28.so", 0x7f0000000000}, {"/usr/lib64/libc-2.28.so", 0x7f0000100000}}},
		{"musl", program + `7f0000000000-7f0000014000 r--p 00000000 00:1f 9 /lib/ld-musl-aarch64.so.1
`, []object{{"/lib/ld-musl-aarch64.so.1", 0x7f0000000000}}},
		{"a folder with a space", "7f0000000000-7f0000014000 r--p 00000000 00:1f 9                   /my root/libc.so.6\n",
			[]object{{"/my root/libc.so.6", 0x7f0000000000}}},
		{"none", "00400000-00a5f000 r-xp 00000000 08:01 42 /bin/program\n", nil},
	} {
		got, err := candidates(strings.NewReader(c.maps))
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(object{})); diff != "" || err != nil {
			t.Errorf("%s: error %v (-want +got):\n%s", c.name, err, diff)
		}
	}
}

// TestNoLoader asks files for functions that they do not have.
func TestNoLoader(t *testing.T) {
	for _, path := range []string{"/proc/self/exe", "/proc/self/maps", "/none"} {
		if s, ok := (object{path: path}).loader(); ok {
			t.Errorf("%s has %v", path, s)
		}
	}
	if err := Supported(); err != nil {
		t.Error(err)
	}
}
