//go:build !amd64

package affine

import "github.com/sinter-go/sinter/backend/cpu/loop"

var pulls, weighs loop.By
