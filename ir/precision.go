package ir

// A Precision is what products may round on the way, as the program asked for when it
// made the call.
type Precision struct {
	// Whether products of float32 may use TF32: matrices', convolutions', those of
	// recurrent layers.
	MatmulTF32, ConvTF32, RNNTF32 bool
	Sums                          Sums
}

// Sums is how products of 16-bit floats may be added up.
type Sums struct {
	FP16, BF16 Partial
	InFP16     bool // those of float16, in float16
}

// A Partial says whether a product may be split along its inner extent, and whether the
// partial sums may then be rounded to 16 bits.
type Partial struct{ Rounded, Split bool }
