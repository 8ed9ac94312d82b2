// Command levels prints the levels of vector instructions that this processor has,
// the lowest first, a line each: what SINTER_CPU may be here.
//
//	go run ./cmd/levels
package main

import (
	"fmt"

	"github.com/sinter-go/sinter/backend/cpu/simd"
)

func main() {
	for _, level := range simd.Usable() {
		fmt.Println(level)
	}
}
