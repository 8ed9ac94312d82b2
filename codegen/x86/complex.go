package x86

import "github.com/sinter-go/sinter/codegen/amd64"

// A Product is one of two arrays of complex numbers, by their places among a loop's
// inputs.
type Product struct {
	X, Y   int
	Conj   bool // of X by the conjugate of Y
	Double bool // complex128, else complex64
}

// productVectors is how many vectors a product's loop takes at a time.
const productVectors = 4

// ComplexProduct makes a loop, as Loop does, that multiplies complex numbers as Go does: parts
// of complex64 are multiplied and added up in float64, where products are exact, and
// rounded once. The processors have no wider vectors for complex128.
func ComplexProduct(name string, p Product, isa ISA) *Func {
	var b amd64.Block
	b.Asm("\tMOVQ n+0(FP), AX\n\tMOVQ p_base+8(FP), BX\n\tMOVQ 0(BX), DX\n\tMOVQ %d(BX), SI\n\tMOVQ %d(BX), DI\n", 8*(1+p.X), 8*(1+p.Y))
	size, width := 8, isa.vectorBytes()
	if p.Double {
		size, width = 16, AVX2.vectorBytes()
	}
	if p.Conj { // register 15 is the sign of the second parts
		b.Asm("\tVPCMPEQD Y15, Y15, Y15\n\tVPSLLQ $63, Y15, Y15\n\tVPXOR Y14, Y14, Y14\n\tVPBLENDD $0xcc, Y15, Y14, Y15\n")
		if width == 64 {
			b.Asm("\tVINSERTF64X4 $1, Y15, Z15, Z15\n")
		}
	}
	step := productVectors * width / 16
	bump := func(n int) {
		b.Asm("\tADDQ $%d, SI\n\tADDQ $%d, DI\n\tADDQ $%d, DX\n", n*size, n*size, n*size)
	}
	b.Asm("\tSUBQ $%d, AX\n\tJLT singles\n\tPCALIGN $32\nmain:\n", step)
	for k := range productVectors {
		p.multiply(&b, k*width/16*size, width, 3*k)
	}
	bump(step)
	b.Asm("\tSUBQ $%d, AX\n\tJGE main\nsingles:\n\tADDQ $%d, AX\n\tJEQ done\nsingle:\n", step, step)
	p.multiply(&b, 0, 16, 0)
	bump(1)
	b.Asm("\tDECQ AX\n\tJNE single\ndone:\n")
	return function(name+isa.String(), "n int, p []unsafe.Pointer, s []ir.Scalar, index int64", &b, 0, 64)
}

// multiply writes the product of the numbers at some bytes from SI and DI to DX: as many
// as a register of width bytes holds in float64. It takes three registers from r on.
func (p Product) multiply(b *amd64.Block, at, width, r int) {
	line := b.Asm
	x, y, z, again := regName(r, width), regName(r+1, width), regName(r+2, width), regName(12, width)
	load := "VCVTPS2PD"
	if p.Double {
		load = "VMOVUPD"
	}
	line("%s %d(SI), %s", load, at, x)
	line("%s %d(DI), %s", load, at, y)
	if p.Conj {
		line("VXORPD %s, %s, %s", regName(15, width), y, y)
	}
	line("VPERMILPD $0x55, %s, %s", y, z) // the parts of y exchanged
	line("VPERMILPD $0xff, %s, %s", x, again)
	line("VMULPD %s, %s, %s", again, z, z) // by the second part of x
	line("VMOVDDUP %s, %s", x, x)
	if p.Double {
		line("VMULPD %s, %s, %s", y, x, x)
		line("VADDSUBPD %s, %s, %s", z, x, x)
		line("VMOVUPD %s, %d(DX)", x, at)
		return
	}
	line("VFMADDSUB213PD %s, %s, %s", z, y, x)
	narrow, store := map[int][2]string{16: {"VCVTPD2PSX", "VMOVLPS"}, 32: {"VCVTPD2PSY", "VMOVUPS"}, 64: {"VCVTPD2PS", "VMOVUPS"}}[width], regName(r, max(width/2, 16))
	line("%s %s, %s", narrow[0], x, store)
	line("%s %s, %d(DX)", narrow[1], store, at)
}
