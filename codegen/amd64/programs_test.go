package amd64_test

import (
	"testing"

	"github.com/sinter-go/sinter/codegen/amd64"
	"github.com/sinter-go/sinter/codegen/x86"
	"github.com/sinter-go/sinter/codegen/x86/x86test"
)

func init() {
	amd64.Programs = func(t *testing.T, f func(amd64.Inst)) {
		data, err := amd64.Parse("\tLEAQ lanes<>+8(SB), AX") // instead of what printing would name
		if err != nil {
			t.Fatal(err)
		}
		for _, isa := range []x86.ISA{x86.AVX2, x86.AVX512} {
			list, err := x86test.Functions(isa)
			if err != nil {
				t.Fatal(err)
			}
			for _, fn := range list {
				for _, in := range fn.Body.Insts {
					for i, a := range in.Args {
						if a.Kind == amd64.Data {
							in.Args[i] = data.Args[0]
						}
					}
					if in.Op != "" && in.Op != "PCALIGN" {
						f(in)
					}
				}
			}
		}
	}
}
