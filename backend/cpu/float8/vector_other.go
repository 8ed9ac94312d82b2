//go:build !amd64

package float8

import "github.com/sinter-go/sinter/backend/cpu/loop"

var encoders loop.By
