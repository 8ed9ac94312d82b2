//go:build !linux || android || !(amd64 || arm64) || nocuda

package cupti

import "github.com/sinter-go/sinter/backend/cuda/driver/dl"

// There are no callbacks where libraries cannot be opened.
const requested, completed uintptr = 0, 0

func room(int) ([]byte, error) { return nil, dl.ErrUnsupported }
