// Package rows writes the functions that go over the rows of a matrix, or its
// columns: softmax and its relatives, layer norms, positions of extremes for
// package backend/cpu/rows; folds and scans for package backend/cpu/fold; channels,
// lines and steps of layers for packages of these names. It knows nothing of tensors.
package rows

import (
	"github.com/mmcloughlin/avo/build"

	"github.com/sinter-go/sinter/gen/simd/asm"
	"github.com/sinter-go/sinter/gen/simd/wide"
)

// Files returns the functions as assembly, in one file for every purpose.
func Files(by string) ([]asm.File, error) {
	var files []asm.File
	for _, p := range []struct {
		dir, name string
		write     func(k *kit)
	}{{"rows", "softmax", softmaxes}, {"rows", "columns", columns}, {"rows", "norm", norms}, {"rows", "arg", args}, {"rows", "outer", outers}, {"fold", "fold", folds}, {"fold", "scan", scans}, {"channel", "channel", channels}, {"lines", "lines", lines}, {"step", "step", steps}} {
		u := asm.Unit{Dir: "backend/cpu/" + p.dir, Pkg: p.dir, Name: p.name, By: by}
		f, err := u.Build(func(ctx *build.Context) {
			used := map[string]bool{}
			wide.Each(ctx, func(w *wide.Kit) { p.write(&kit{Kit: w, used: used}) })
			data(ctx, used)
		})
		if err != nil {
			return nil, err
		}
		files = append(files, f...)
	}
	return files, nil
}
