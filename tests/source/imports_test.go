package source_test

import (
	"go/ast"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/sinter-go/sinter"

// arrows says which packages of this module those at or below a path may import:
// the ones named, and with "/..." all below. The longest path that fits decides.
// docs/architecture.md has the same as a map. It is a statement of policy: when the
// test fails, change the code, not this table.
var arrows = []struct {
	path string
	may  []string
}{
	{"ir", nil},
	{"ir/num", nil},
	{"ir/shapes", []string{"ir"}},
	{"ir/num/numtest", []string{"ir/num"}},
	{"ir/expr", []string{"ir", "ir/num"}},
	{"ir/body", []string{"ir", "ir/expr"}},
	{"ir/fusion", []string{"ir", "ir/body", "ir/expr", "ir/program"}},
	{"kernels", nil},
	{"gen/schema", []string{"ir", "ir/expr", "ir/shapes"}},
	{"gen/simd", []string{"codegen/...", "gen/simd/...", "ir"}},
	{"codegen", []string{"codegen/...", "ir"}},
	{"codegen/cpp", []string{"ir", "ir/expr"}},
	{"codegen/ptx", []string{"codegen/cpp", "ir", "ir/expr"}},
	{"codegen/lower", []string{"codegen/lane", "ir", "ir/expr"}},
	{"codegen/loops", []string{"codegen/...", "ir", "ir/expr"}},
	{"gen/emit/unit", []string{"gen/schema", "ir"}},
	{"gen/emit/bodies", []string{"gen/schema", "ir", "ir/expr"}},
	{"gen/emit/gofile", []string{"gen/emit/unit", "gen/schema", "ir"}},
	{"gen/emit/cpu", []string{"gen/emit/bodies", "gen/emit/gofile", "gen/emit/unit", "codegen/...", "gen/schema", "ir", "ir/expr"}},
	{"gen/emit/cuda", []string{"codegen/cpp", "codegen/ptx", "gen/emit/bodies", "gen/emit/gofile", "gen/emit/unit", "gen/schema", "ir", "ir/expr"}},
	{"gen/emit/ref", []string{"gen/emit/gofile", "gen/emit/unit", "gen/schema", "ir"}},
	{"gen/emit/ops", []string{"gen/emit/bodies", "gen/emit/gofile", "gen/emit/unit", "gen/schema", "ir", "ir/expr", "ir/shapes"}},
	{"gen/emit/tensor", []string{"gen/emit/gofile", "gen/emit/unit", "gen/schema", "ir"}},
	{"gen/emit/cases", []string{"gen/emit/gofile", "gen/emit/unit", "gen/schema", "ir"}},
	{"gen/emit/docs", []string{"gen/emit/unit", "gen/schema", "ir"}},
	{"gen/emit", []string{"gen/emit/...", "gen/schema"}},
	{"gen", []string{".", "gen/emit", "gen/emit/unit", "gen/schema", "gen/simd"}},
	{"runtime/caller", nil},
	{"runtime/local", nil},
	{"runtime/option", nil},
	{"runtime/printing", []string{"ir"}},
	{"runtime/shm", nil},
	{"runtime/filemap", nil},
	{"runtime/garbage", nil},
	{"runtime/offheap", nil},
	{"runtime/observe", []string{"ir", "runtime/device"}},
	{"runtime/device", []string{"ir", "ir/fusion", "runtime/local"}},
	{"runtime", []string{"ir", "ir/fusion", "ir/program", "ir/shapes", "runtime/..."}},
	{"runtime/memory/figures", nil},
	{"runtime/memory/host", []string{"runtime/device", "runtime/offheap"}},
	{"runtime/memory/pickle", nil},
	{"runtime/memory/settings", nil},
	{"runtime/memory/pprof", []string{"runtime/memory"}},
	{"backend/cpu/made", []string{"backend/cpu/fold", "backend/cpu/simd", "backend/cpu/vector", "codegen/...", "ir", "ir/body", "ir/expr"}},
	{"backend/cpu/fused", []string{"backend/cpu/...", "codegen/loops", "codegen/lower", "codegen/x86", "ir", "ir/body", "ir/fusion"}},
	{"backend/cpu/draw", []string{"backend/cpu/loop", "backend/cpu/simd", "backend/cpu/vector", "ir", "ir/num"}},
	{"backend/cpu", []string{"backend/cpu/...", "ir", "ir/fusion", "runtime/device", "runtime/fftplans", "runtime/garbage", "runtime/offheap", "runtime/shm"}},
	{"backend/ref", []string{"backend/ref/...", "ir", "ir/body", "ir/expr"}},
	{"backend/sim", []string{"backend/ref", "generated/ref", "ir", "runtime/device", "runtime/fftplans", "runtime/shm"}},
	{"backend/cuda", []string{"backend/cuda/...", "codegen/cpp", "codegen/ptx", "kernels", "kernels/functions", "ir/...", "runtime/..."}},
	{"kernels/functions", []string{"kernels"}},
	{"backend/all", []string{"backend/cpu", "backend/cuda/driver/dl", "backend/cuda/gpu", "runtime/device"}},
	{"generated/cpu", []string{"backend/cpu/draw", "backend/cpu/fold", "backend/cpu/vector", "backend/cpu/vmath", "ir", "ir/num"}},
	{"generated/ops", []string{"generated/cpu", "backend/cpu/opaque", "backend/cuda/code", "backend/cuda/opaque", "ir", "ir/shapes", "runtime/..."}},
	{"generated/ref", []string{"generated/ops", "backend/ref/opaque", "ir"}},
	{"generated/tensor", []string{"generated/ops", "backend/all", "ir", "ir/shapes", "runtime/..."}},
	{"generated/tensor/out", []string{"generated/ops", "generated/tensor", "ir", "runtime/..."}},
	{"generated/opcases", []string{"generated/ops", "optest", "ir", "runtime/..."}},
	{"optest", []string{"generated/tensor", "backend/ref", "backend/sim", "ir/...", "runtime/..."}},
	{"profile", []string{"backend/cuda/nvtx", "generated/tensor", "ir", "runtime/..."}},
	{"nn", []string{"generated/tensor", "ir", "runtime/..."}},
	{"ir/program", []string{"ir"}},
	{"compile", []string{"nn", "optim", "generated/tensor", "ir", "ir/program", "runtime/..."}},
	{"optim", []string{"nn", "generated/ops", "generated/tensor", "ir", "runtime/..."}},
	{"optim/checkpoint", []string{"optim", "nn", "data/...", "generated/tensor", "ir", "runtime/..."}},
	{"data", []string{"data/...", "generated/tensor", "generated/tensor/out", "ir", "runtime/..."}},
	{"runtime/collective", []string{"ir", "runtime/device"}},
	{"runtime/collective/local", []string{"ir", "runtime/collective", "runtime/device"}},
	{"runtime/collective/peer", []string{"ir", "runtime/collective", "runtime/device", "runtime/memory"}},
	{"backend/mpi", []string{"backend/cuda/driver/dl", "ir", "runtime/collective", "runtime/device"}},
	{"dist", []string{"backend/cuda/nccl", "backend/mpi", "nn", "optim", "optim/checkpoint", "generated/ops", "generated/tensor", "ir", "runtime/..."}},
	{"examples", []string{"examples/...", "compile", "data/...", "dist", "nn", "onnx", "optim", "backend/cuda", "backend/sim", "generated/tensor", "ir/program", "runtime/..."}},
	{"onnx", []string{"compile", "generated/tensor", "onnx/internal/...", "ir", "runtime/..."}},
	{"onnx/internal/format", []string{"ir"}},
	{"onnx/internal/standard", nil},
	{"cmd/onnx", []string{"onnx", "data", "generated/tensor", "runtime/..."}},
	{"cmd/peers", []string{"cmd/peers/side", "generated/tensor", "nn", "optim"}},
	{"cmd", []string{"backend/cpu/exec", "dist", "backend/cpu/simd", "backend/cuda/...", "examples/...", "compile", "data/...", "nn", "optim", "generated/ops", "generated/opcases", "generated/tensor", "generated/tensor/out", "optest", "ir", "runtime/..."}},
	{"tests/conformance/model", nil},
	{"tests/conformance/report", nil},
	{"tests/brief", nil},
	{"tests/lost", nil},
	{"tests/patience", []string{"runtime/garbage"}},
	{"tests/self", []string{"tests/patience"}},
	{"tests/public", nil},
	{"tests/said", nil},
	{"tests/allocations", nil},
	{"tests/extend", nil},
	{".", nil},
}

// covers reports whether one of the patterns stands for the package.
func covers(patterns []string, pkg string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		base, below := strings.CutSuffix(p, "/...")
		return pkg == base || below && strings.HasPrefix(pkg, base+"/")
	})
}

// TestImports reads every file that is not a test and holds its imports against
// arrows.
func TestImports(t *testing.T) {
	trees(t, func(rel string, file *ast.File) {
		pkg := path.Dir(rel)
		rule := -1
		for i, a := range arrows {
			if (a.path == pkg || strings.HasPrefix(pkg, a.path+"/")) && (rule < 0 || len(a.path) > len(arrows[rule].path)) {
				rule = i
			}
		}
		if rule < 0 {
			t.Errorf("%s: no rule says what package %s may import", rel, pkg)
			return
		}
		for _, spec := range file.Imports {
			imported, _ := strconv.Unquote(spec.Path.Value)
			ours, ok := strings.CutPrefix(imported, module)
			if ours = strings.TrimPrefix(ours, "/"); ours == "" {
				ours = "."
			}
			if ok && !covers(arrows[rule].may, ours) {
				t.Errorf("%s: package %s must not import %s", rel, pkg, ours)
			}
		}
	})
}
