// Package emit turns a checked schema into files: Go packages, CUDA sources,
// test tables and documentation. Each of the packages below emits one artefact, and
// this one says which there are. None of them touches a file system, reads YAML, or
// looks at earlier output.
package emit

import (
	"cmp"
	"errors"
	"path"
	"slices"

	"github.com/sinter-go/sinter/gen/emit/cases"
	"github.com/sinter-go/sinter/gen/emit/cpu"
	"github.com/sinter-go/sinter/gen/emit/cuda"
	"github.com/sinter-go/sinter/gen/emit/docs"
	"github.com/sinter-go/sinter/gen/emit/gofile"
	"github.com/sinter-go/sinter/gen/emit/ops"
	"github.com/sinter-go/sinter/gen/emit/ref"
	"github.com/sinter-go/sinter/gen/emit/tensor"
	"github.com/sinter-go/sinter/gen/emit/unit"
	"github.com/sinter-go/sinter/gen/schema"
)

// backends are the kinds of devices that something is emitted for.
var backends = []gofile.Backend{cpu.Backend, cuda.Backend, ref.Backend}

// Files returns everything that spec describes, for these kinds of devices and more,
// sorted by path.
func Files(spec *schema.Spec, target unit.Target, more ...gofile.Backend) ([]unit.File, error) {
	u, backends := unit.New(spec, target), slices.Concat(backends, more)
	if u.Std && target.NoAssembly {
		return nil, errors.New("the standard operators are not made without assembly: they need no executable memory")
	}
	operators := ops.New(u, backends)
	u.CheckEnums()
	tensor.CheckNames(u)
	for _, b := range backends {
		b.Emit(u)
	}
	operators.Emit()
	tensor.Emit(u)
	cases.Emit(u, operators.ReadsRounded)
	docs.Emit(u)
	if err := errors.Join(u.Errs...); err != nil {
		return nil, err
	}
	slices.SortFunc(u.Files, func(a, b unit.File) int { return cmp.Compare(a.Path, b.Path) })
	return u.Files, nil
}

// Owned returns the directories, below the module's root, that hold nothing but
// emitted files and so may be searched for files that no emitter owns.
func Owned(spec *schema.Spec, target unit.Target) []string {
	u := unit.New(spec, target)
	var dirs []string
	for _, d := range []string{"ops", spec.Package, tensor.OutPackage(spec), "opcases", "kernels"} {
		dirs = append(dirs, path.Join(target.Dir, d))
	}
	for _, b := range backends {
		dirs = append(dirs, path.Join(target.Dir, b.Kind))
	}
	dirs = append(dirs, u.KernelDir, u.DocsDir)
	slices.Sort(dirs)
	return slices.Compact(dirs)
}
