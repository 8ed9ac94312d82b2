package ptx

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/kernels"
	"github.com/sinter-go/sinter/tests/brief"
)

const samplePTX = `//
// Made by hand { with a brace
//
.version 8.0
.target sm_75
.address_size 64

	// .globl	first
.func  (.param .b64 func_retval0) helper
(
	.param .b64 helper_param_0
)
;
.global .align 4 .b8 table[8] = {1, 2, 3, 4, 5, 6, 7, 8};
.const .align 4 .u32 unused = 7;
.global .align 4 .u32 $needed$by_helper;
.global .align 8 .u64 pointers[2] = {table, generic(table)};
.extern .shared .align 16 .b8 dynamic[];
.shared .align 16 .b8 own[32];

.visible .entry first(
	.param .u64 first_param_0
)
.maxntid 256, 1, 1
{
	.pragma "nounroll }";
	{ // callseq 0, 0
	.param .b64 param0;
	call.uni (retval0), helper, (param0);
	}
	/* } */
	ld.global.u32 %r1, [table+4];
	ret;
}
.visible .entry second()
{
	mov.u64 %rd1, own;
	mov.u64 %rd2, dynamic;
	mov.u64 %rd3, pointers;
}
.func  (.param .b64 func_retval0) helper(
	.param .b64 helper_param_0
)
{
	ld.global.u32 %r1, [$needed$by_helper];
	ret;
}
`

// TestTrim counts what is left of each definition.
func TestTrim(t *testing.T) {
	for _, test := range []struct {
		kernel string
		has    map[string]int
	}{
		{"first", map[string]int{".version 8.0\n": 1, ".target sm_75\n": 1, ".address_size 64\n": 1,
			".entry first(": 1, ".entry second(": 0, ") helper": 2, "table[8]": 1, "$needed$by_helper;": 1, "unused": 0,
			"pointers[2]": 0, "own[32]": 0, "dynamic[]": 0, "nounroll }": 1, "ret;": 2, "// Made": 0, ".globl": 0}},
		{"second", map[string]int{".entry first(": 0, ".entry second()": 1, "helper": 0, "table[8]": 1, "pointers[2]": 1,
			"own[32]": 1, "dynamic[]": 1, "needed": 0}},
	} {
		text, err := Divide(append([]byte(samplePTX), 0)).Trim(test.kernel)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]int{}
		for part := range test.has {
			got[part] = strings.Count(string(text), part)
		}
		if diff := cmp.Diff(test.has, got); diff != "" {
			t.Errorf("%s: %s\n%s", test.kernel, diff, text)
		}
		again, err := Divide(text).Trim(test.kernel)
		if err != nil || string(again) != string(text) {
			t.Errorf("%s: trimmed again: %v\n%s", test.kernel, err, again)
		}
	}
	for _, name := range []string{"third", "helper", "table", ""} {
		if _, err := Divide([]byte(samplePTX)).Trim(name); err == nil || !strings.Contains(err.Error(), "no kernel "+name) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestTrimStandard: in what is left of a kernel that NVRTC made, everything used
// is declared, before its use.
func TestTrimStandard(t *testing.T) {
	standard := kernels.Standard()
	entry := regexp.MustCompile(`(?m)^\.visible \.entry (\w+)\(`)
	mangled := regexp.MustCompile(`_Z\w+`)
	defines := regexp.MustCompile(`(?m)^[ \t]*(?:\.weak |\.visible |\.extern )*\.(?:func|global|const|shared)[^=;{]*`)
	for i, module := range []string{"scan", "complex", "arithmetic", "reduction"} {
		if brief.Skip(i) {
			continue
		}
		text, err := standard.PTX(module)
		if err != nil {
			t.Log(err)
			continue
		}
		all := Divide(text)
		names := entry.FindAllSubmatch(text, -1)
		for i := 0; i < len(names); i += 1 + len(names)/10 {
			name := string(names[i][1])
			one, err := all.Trim(name)
			if err != nil {
				t.Fatal(err)
			}
			if n := len(entry.FindAll(one, -1)); n != 1 || !strings.Contains(string(one), ".entry "+name+"(") {
				t.Errorf("%s: %d kernels are left", name, n)
			}
			declared := map[string]bool{}
			for _, d := range defines.FindAllString(string(one), -1) {
				for _, word := range mangled.FindAllString(d, -1) {
					declared[word] = true
				}
			}
			for _, word := range mangled.FindAllString(string(one), -1) {
				base, _, isParam := strings.Cut(word, "_param_")
				if !declared[word] && !(isParam && declared[base]) {
					t.Errorf("%s uses %s, which is not declared", name, word)
				}
			}
		}
	}
}

func FuzzTrim(f *testing.F) {
	f.Add([]byte(samplePTX), "first")
	f.Add([]byte(".visible .entry a(){\"}"), "a")
	f.Add([]byte("\""), "")
	f.Fuzz(func(t *testing.T, text []byte, name string) {
		one, err := Divide(text).Trim(name)
		if err == nil && len(one) > 2*len(text)+2 {
			t.Errorf("%d bytes became %d", len(text), len(one))
		}
	})
}
