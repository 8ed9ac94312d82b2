//go:build !amd64

package keys

import "github.com/sinter-go/sinter/ir"

func vectorCode(ir.DType) *Code { return nil }
