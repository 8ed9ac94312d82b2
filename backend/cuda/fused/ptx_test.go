package fused_test

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/backend/cuda/fused"
	"github.com/sinter-go/sinter/codegen/ptx/ptxtest"
	"github.com/sinter-go/sinter/ir"
)

// TestPTX: the PTX of a region has the kernel that launches ask for, and assembles.
func TestPTX(t *testing.T) {
	for _, results := range []int{1, 2} {
		for _, dt := range []ir.DType{ir.Float32, ir.Float64} {
			k, err := fused.Kernels(region(t, dt, results))
			if err != nil {
				t.Fatal(err)
			}
			for _, loop := range []string{"", "_strided", "_rows"} {
				if loop == "_rows" && results > 1 {
					continue
				}
				text, err := fs.ReadFile(k.Source, k.Module+loop+".ptx")
				if err != nil {
					t.Fatal(err)
				}
				if name := k.Symbol + "_" + dt.String() + loop + "("; !strings.Contains(string(text), ".entry "+name) {
					t.Errorf("no kernel %s", name)
				}
				ptxtest.Assemble(t, text)
			}
		}
	}
}

// TestRowsPTX: the PTX of rows has the kernels that launches ask for, and assembles.
func TestRowsPTX(t *testing.T) {
	for _, dts := range [][2]ir.DType{{ir.Float32, ir.Float32}, {ir.Float64, ir.Float64}, {ir.Float32, ir.BFloat16}, {ir.Float32, ir.Float16}} {
		k, err := fused.Rows(rows(t, dts[0], dts[1]))
		if err != nil {
			t.Fatal(err)
		}
		for _, held := range []string{"", "_held4", "_held16"} {
			text, err := fs.ReadFile(k.Source, k.Module+held+".ptx")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := fs.Stat(k.Source, k.Module+held+".ptx"); err != nil {
				t.Error(err)
			}
			if name := fused.RowKernel() + held + "("; !strings.Contains(string(text), ".entry "+name) {
				t.Errorf("no kernel %s", name)
			}
			ptxtest.Assemble(t, text)
		}
	}
}
