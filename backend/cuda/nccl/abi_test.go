package nccl

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cuda/library"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/collective"
)

// TestLibrary opens the real library, which takes no GPU: it has all functions.
func TestLibrary(t *testing.T) {
	v, err := Version()
	if err != nil {
		t.Skip(err)
	}
	if v < oldest || v > 99999 {
		t.Errorf("version %d", v)
	}
}

// TestABI compares names, values and the layout of the configuration with the library's
// header, which its Python package brings.
func TestABI(t *testing.T) {
	var header string
	for _, file := range library.Paths(library.NCCL) {
		if text, err := os.ReadFile(filepath.Join(filepath.Dir(file), "..", "include", "nccl.h")); err == nil {
			header = string(text)
		}
	}
	if header == "" {
		t.Skip("needs nccl.h (pip install nvidia-nccl-cu12, or SINTER_NCCL)")
	}
	for name, want := range map[string]int{
		"ncclSuccess": success, "ncclInProgress": inProgress, "ncclUint8": typeByte,
		"ncclInt8": int(types[ir.Int8]), "ncclInt32": int(types[ir.Int32]), "ncclInt64": int(types[ir.Int64]),
		"ncclFloat16": int(types[ir.Float16]), "ncclFloat32": int(types[ir.Float32]), "ncclFloat64": int(types[ir.Float64]),
		"ncclBfloat16": int(types[ir.BFloat16]),
		"ncclSum":      int(ops[collective.Sum]), "ncclProd": int(ops[collective.Product]), "ncclMax": int(ops[collective.Max]),
		"ncclMin": int(ops[collective.Min]), "ncclAvg": int(ops[collective.Average]),
	} {
		found := regexp.MustCompile(`\b` + name + `\s*=\s*(\d+)`).FindStringSubmatch(header)
		if found == nil || found[1] != strconv.Itoa(want) {
			t.Errorf("%s is %v, want %d", name, found, want)
		}
	}
	for _, name := range names {
		if !regexp.MustCompile(`\b` + name + `\(`).MatchString(header) {
			t.Errorf("the header has no function %s", name)
		}
	}
	for _, text := range []string{"#define NCCL_UNIQUE_ID_BYTES 128", "0xcafebeef", "#define NCCL_CONFIG_UNDEF_INT INT_MIN",
		"ncclCommInitRankScalable(ncclComm_t* newcomm, int nranks, int myrank, int nId, ncclUniqueId* commIds, ncclConfig_t* config)"} {
		if !strings.Contains(header, text) {
			t.Errorf("the header has no %q", text)
		}
	}
	fields := regexp.MustCompile(`(?s)typedef struct ncclConfig_v\d+ \{(.*?)splitShare;`).FindStringSubmatch(header)
	want := "size_t size; unsigned int magic; unsigned int version; int blocking; int cgaClusterSize; int minCTAs; int maxCTAs; const char *netName; int"
	if fields == nil {
		t.Fatal("the header has no ncclConfig_t")
	}
	if got := strings.Join(strings.Fields(regexp.MustCompile(`(?s)/\*.*?\*/`).ReplaceAllString(fields[1], "")), " "); got != want {
		t.Errorf("ncclConfig_t begins with\n%s, want\n%s", got, want)
	}
	var c config
	if unsafe.Offsetof(c.splitShare) != 40 || unsafe.Offsetof(c.netName) != 32 || unsafe.Sizeof(c) != 48 {
		t.Errorf("the configuration is laid out in another way than C does: %d, %d, %d", unsafe.Offsetof(c.netName), unsafe.Offsetof(c.splitShare), unsafe.Sizeof(c))
	}
}

// TestReductions says which reductions there are, and as what elements.
func TestReductions(t *testing.T) {
	for _, c := range []struct {
		o     collective.Op
		d     ir.DType
		dtype uintptr
		op    uintptr
		width int
	}{
		{collective.Sum, ir.Float32, 7, 0, 1}, {collective.Average, ir.BFloat16, 9, 4, 1}, {collective.Sum, ir.Bool, 1, 2, 1},
		{collective.Product, ir.Bool, 1, 3, 1}, {collective.Average, ir.Complex64, 7, 4, 2}, {collective.Sum, ir.Complex128, 8, 0, 2},
	} {
		dtype, op, width, err := reduction(c.o, c.d)
		if err != nil || dtype != c.dtype || op != c.op || width != c.width {
			t.Errorf("%s of %s: %d, %d, %d, %v", c.o, c.d, dtype, op, width, err)
		}
	}
	for _, c := range []struct {
		o collective.Op
		d ir.DType
	}{{collective.Sum, ir.Int16}, {collective.Product, ir.Complex64}} {
		if _, _, _, err := reduction(c.o, c.d); err == nil {
			t.Errorf("%s of %s: no error", c.o, c.d)
		}
	}
}
