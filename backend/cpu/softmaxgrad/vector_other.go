//go:build !amd64

package softmaxgrad

import "github.com/sinter-go/sinter/backend/cpu/loop"

var adds, pulls, pullsOf loop.By
