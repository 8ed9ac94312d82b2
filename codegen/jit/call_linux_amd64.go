package jit

import "unsafe"

// callSmall and callLarge copy argBytes of parameters from args to the bottom of their
// frames, and call code, which is no Go memory. They differ in the size of the frame.
//
//go:noescape
func callSmall(code unsafe.Pointer, args unsafe.Pointer)

//go:noescape
func callLarge(code unsafe.Pointer, args unsafe.Pointer)
