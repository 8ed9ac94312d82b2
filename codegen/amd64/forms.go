package amd64

import "sync"

// layout says which operand of an instruction, in Go's order, goes where: r the
// register in ModRM.reg, m that or the memory in ModRM.rm, v the register in vvvv, i an
// immediate byte. A mask register before the destination is in none of them.
type layout uint8

const (
	rm     layout = iota // m, r
	mr                   // r, m
	rvm                  // m, v, r
	mvr                  // r, v, m
	rmv                  // v, m, r
	rmi                  // i, m, r
	mri                  // i, r, m
	rvmi                 // i, m, v, r
	vmi                  // i, m, v; ext in ModRM.reg
	rvmr                 // a register in the immediate, m, v, r
	gather               // v, m with a vector of indices, r
	alone                // no operands
)

// rmKind is what may stand in ModRM.rm.
type rmKind uint8

const (
	vectorOrMemory  rmKind = iota
	mem                    // memory alone
	generalOrMemory        // a general register, or memory
	generalOnly            // a general register
	maskOrMemory
	maskOnly
)

// Values of W, and no where there is no such encoding.
const (
	no = iota
	w0
	w1
)

// Values of pp, the mandatory prefix.
const (
	p66 = 1 + iota
	pF3
	pF2
)

// A unit is what an 8-bit displacement of EVEX counts in: bytes, or a part of the vector.
type unit uint8

const (
	full    unit = 0
	half    unit = 0x82
	quarter unit = 0x84
	eighth  unit = 0x88
)

// of is the unit in bytes for vectors of n bytes.
func (u unit) of(n int64) int64 {
	if u&0x80 != 0 {
		return n / int64(u&0x7f)
	}
	return int64(u)
}

// A form is one encoding of a vector instruction.
type form struct {
	lay  layout
	rm   rmKind
	m    uint8 // opcode map: 0F, 0F38, 0F3A
	pp   uint8
	op   uint8
	ext  uint8
	vex  uint8 // W of the VEX encoding
	evex uint8 // W of the EVEX encoding
	unit unit  // of an 8-bit displacement in EVEX
	bcst uint8 // bytes of a broadcast element
	long bool  // VEX.L is 1 although no operand is a vector
}

// forms are the encodings of each instruction of vectors and masks, of Intel's manual.
// The first that suits the operands is taken, as the assembler does. The table is made
// when it is first asked for: most programs that can encode never do.
var forms = sync.OnceValue(func() map[string][]form {
	return map[string][]form{
		"VADDPD":         {{lay: rvm, m: 1, pp: p66, op: 0x58, vex: w0, evex: w1, bcst: 8}},
		"VADDPS":         {{lay: rvm, m: 1, op: 0x58, vex: w0, evex: w0, bcst: 4}},
		"VADDSUBPD":      {{lay: rvm, m: 1, pp: p66, op: 0xd0, vex: w0, evex: no}},
		"VANDNPD":        {{lay: rvm, m: 1, pp: p66, op: 0x55, vex: w0, evex: w1, bcst: 8}},
		"VANDNPS":        {{lay: rvm, m: 1, op: 0x55, vex: w0, evex: w0, bcst: 4}},
		"VANDPD":         {{lay: rvm, m: 1, pp: p66, op: 0x54, vex: w0, evex: w1, bcst: 8}},
		"VANDPS":         {{lay: rvm, m: 1, op: 0x54, vex: w0, evex: w0, bcst: 4}},
		"VBLENDMPD":      {{lay: rvm, m: 2, pp: p66, op: 0x65, vex: no, evex: w1, bcst: 8}},
		"VBLENDMPS":      {{lay: rvm, m: 2, pp: p66, op: 0x65, vex: no, evex: w0, bcst: 4}},
		"VBLENDPS":       {{lay: rvmi, m: 3, pp: p66, op: 0x0c, vex: w0, evex: no}},
		"VBLENDVPD":      {{lay: rvmr, m: 3, pp: p66, op: 0x4b, vex: w0, evex: no}},
		"VBLENDVPS":      {{lay: rvmr, m: 3, pp: p66, op: 0x4a, vex: w0, evex: no}},
		"VBROADCASTSD":   {{lay: rm, m: 2, pp: p66, op: 0x19, vex: w0, evex: w1, unit: 8}},
		"VBROADCASTSS":   {{lay: rm, m: 2, pp: p66, op: 0x18, vex: w0, evex: w0, unit: 4}},
		"VCMPPD":         {{lay: rvmi, m: 1, pp: p66, op: 0xc2, vex: w0, evex: w1, bcst: 8}},
		"VCMPPS":         {{lay: rvmi, m: 1, op: 0xc2, vex: w0, evex: w0, bcst: 4}},
		"VCVTDQ2PS":      {{lay: rm, m: 1, op: 0x5b, vex: w0, evex: w0, bcst: 4}},
		"VCVTPD2PS":      {{lay: rm, m: 1, pp: p66, op: 0x5a, vex: no, evex: w1, bcst: 8}},
		"VCVTPD2PSX":     {{lay: rm, m: 1, pp: p66, op: 0x5a, vex: w0, evex: w1, bcst: 8}},
		"VCVTPD2PSY":     {{lay: rm, m: 1, pp: p66, op: 0x5a, vex: w0, evex: w1, bcst: 8}},
		"VCVTPD2QQ":      {{lay: rm, m: 1, pp: p66, op: 0x7b, vex: no, evex: w1, bcst: 8}},
		"VCVTPH2PS":      {{lay: rm, m: 2, pp: p66, op: 0x13, vex: w0, evex: w0, unit: half}},
		"VCVTPS2DQ":      {{lay: rm, m: 1, pp: p66, op: 0x5b, vex: w0, evex: w0, bcst: 4}},
		"VCVTPS2PD":      {{lay: rm, m: 1, op: 0x5a, vex: w0, evex: w0, unit: half, bcst: 4}},
		"VCVTPS2PH":      {{lay: mri, m: 3, pp: p66, op: 0x1d, vex: w0, evex: w0, unit: half}},
		"VCVTQQ2PD":      {{lay: rm, m: 1, pp: pF3, op: 0xe6, vex: no, evex: w1, bcst: 8}},
		"VCVTSD2SIQ":     {{lay: rm, m: 1, pp: pF2, op: 0x2d, vex: w1, evex: w1, unit: half}},
		"VCVTTPD2QQ":     {{lay: rm, m: 1, pp: p66, op: 0x7a, vex: no, evex: w1, bcst: 8}},
		"VCVTTPS2DQ":     {{lay: rm, m: 1, pp: pF3, op: 0x5b, vex: w0, evex: w0, bcst: 4}},
		"VCVTTSD2SIQ":    {{lay: rm, m: 1, pp: pF2, op: 0x2c, vex: w1, evex: w1, unit: half}},
		"VDIVPD":         {{lay: rvm, m: 1, pp: p66, op: 0x5e, vex: w0, evex: w1, bcst: 8}},
		"VDIVPS":         {{lay: rvm, m: 1, op: 0x5e, vex: w0, evex: w0, bcst: 4}},
		"VEXTRACTF128":   {{lay: mri, m: 3, pp: p66, op: 0x19, vex: w0, evex: no}},
		"VEXTRACTF64X4":  {{lay: mri, m: 3, pp: p66, op: 0x1b, vex: no, evex: w1, unit: half}},
		"VEXTRACTI128":   {{lay: mri, m: 3, pp: p66, op: 0x39, vex: w0, evex: no}},
		"VFMADD132PD":    {{lay: rvm, m: 2, pp: p66, op: 0x98, vex: w1, evex: w1, bcst: 8}},
		"VFMADD132PS":    {{lay: rvm, m: 2, pp: p66, op: 0x98, vex: w0, evex: w0, bcst: 4}},
		"VFMADD213PD":    {{lay: rvm, m: 2, pp: p66, op: 0xa8, vex: w1, evex: w1, bcst: 8}},
		"VFMADD213PS":    {{lay: rvm, m: 2, pp: p66, op: 0xa8, vex: w0, evex: w0, bcst: 4}},
		"VFMADD231PD":    {{lay: rvm, m: 2, pp: p66, op: 0xb8, vex: w1, evex: w1, bcst: 8}},
		"VFMADD231PS":    {{lay: rvm, m: 2, pp: p66, op: 0xb8, vex: w0, evex: w0, bcst: 4}},
		"VFMADDSUB213PD": {{lay: rvm, m: 2, pp: p66, op: 0xa6, vex: w1, evex: w1, bcst: 8}},
		"VFMSUB132PD":    {{lay: rvm, m: 2, pp: p66, op: 0x9a, vex: w1, evex: w1, bcst: 8}},
		"VFMSUB132PS":    {{lay: rvm, m: 2, pp: p66, op: 0x9a, vex: w0, evex: w0, bcst: 4}},
		"VFMSUB213PD":    {{lay: rvm, m: 2, pp: p66, op: 0xaa, vex: w1, evex: w1, bcst: 8}},
		"VFMSUB213PS":    {{lay: rvm, m: 2, pp: p66, op: 0xaa, vex: w0, evex: w0, bcst: 4}},
		"VFMSUB231PD":    {{lay: rvm, m: 2, pp: p66, op: 0xba, vex: w1, evex: w1, bcst: 8}},
		"VFMSUB231PS":    {{lay: rvm, m: 2, pp: p66, op: 0xba, vex: w0, evex: w0, bcst: 4}},
		"VFNMADD132PS":   {{lay: rvm, m: 2, pp: p66, op: 0x9c, vex: w0, evex: w0, bcst: 4}},
		"VFNMADD213PD":   {{lay: rvm, m: 2, pp: p66, op: 0xac, vex: w1, evex: w1, bcst: 8}},
		"VFNMADD213PS":   {{lay: rvm, m: 2, pp: p66, op: 0xac, vex: w0, evex: w0, bcst: 4}},
		"VFNMADD231PD":   {{lay: rvm, m: 2, pp: p66, op: 0xbc, vex: w1, evex: w1, bcst: 8}},
		"VFNMADD231PS":   {{lay: rvm, m: 2, pp: p66, op: 0xbc, vex: w0, evex: w0, bcst: 4}},
		"VGATHERQPD":     {{lay: gather, m: 2, pp: p66, op: 0x93, vex: w1, evex: w1, unit: 8}},
		"VGETEXPPD":      {{lay: rm, m: 2, pp: p66, op: 0x42, vex: no, evex: w1, bcst: 8}},
		"VGETEXPPS":      {{lay: rm, m: 2, pp: p66, op: 0x42, vex: no, evex: w0, bcst: 4}},
		"VGETMANTPD":     {{lay: rmi, m: 3, pp: p66, op: 0x26, vex: no, evex: w1, bcst: 8}},
		"VGETMANTPS":     {{lay: rmi, m: 3, pp: p66, op: 0x26, vex: no, evex: w0, bcst: 4}},
		"VINSERTF128":    {{lay: rvmi, m: 3, pp: p66, op: 0x18, vex: w0, evex: no}},
		"VINSERTF64X4":   {{lay: rvmi, m: 3, pp: p66, op: 0x1a, vex: no, evex: w1, unit: half}},
		"VINSERTI128":    {{lay: rvmi, m: 3, pp: p66, op: 0x38, vex: w0, evex: no}},
		"VMASKMOVPD":     {{lay: mvr, rm: mem, m: 2, pp: p66, op: 0x2f, vex: w0, evex: no}, {lay: rvm, rm: mem, m: 2, pp: p66, op: 0x2d, vex: w0, evex: no}},
		"VMASKMOVPS":     {{lay: mvr, rm: mem, m: 2, pp: p66, op: 0x2e, vex: w0, evex: no}, {lay: rvm, rm: mem, m: 2, pp: p66, op: 0x2c, vex: w0, evex: no}},
		"VMAXPD":         {{lay: rvm, m: 1, pp: p66, op: 0x5f, vex: w0, evex: w1, bcst: 8}},
		"VMAXPS":         {{lay: rvm, m: 1, op: 0x5f, vex: w0, evex: w0, bcst: 4}},
		"VMINPD":         {{lay: rvm, m: 1, pp: p66, op: 0x5d, vex: w0, evex: w1, bcst: 8}},
		"VMINPS":         {{lay: rvm, m: 1, op: 0x5d, vex: w0, evex: w0, bcst: 4}},
		"VMOVAPD":        {{lay: mr, m: 1, pp: p66, op: 0x29, vex: w0, evex: w1}, {lay: rm, m: 1, pp: p66, op: 0x28, vex: w0, evex: w1}},
		"VMOVAPS":        {{lay: mr, m: 1, op: 0x29, vex: w0, evex: w0}, {lay: rm, m: 1, op: 0x28, vex: w0, evex: w0}},
		"VMOVD":          {{lay: mr, rm: generalOrMemory, m: 1, pp: p66, op: 0x7e, vex: w0, evex: w0, unit: quarter}, {lay: rm, rm: generalOrMemory, m: 1, pp: p66, op: 0x6e, vex: w0, evex: w0, unit: quarter}},
		"VMOVDDUP":       {{lay: rm, m: 1, pp: pF2, op: 0x12, vex: w0, evex: w1}},
		"VMOVDQU":        {{lay: mr, m: 1, pp: pF3, op: 0x7f, vex: w0, evex: no}, {lay: rm, m: 1, pp: pF3, op: 0x6f, vex: w0, evex: no}},
		"VMOVDQU16":      {{lay: mr, m: 1, pp: pF2, op: 0x7f, vex: no, evex: w1}, {lay: rm, m: 1, pp: pF2, op: 0x6f, vex: no, evex: w1}},
		"VMOVDQU8":       {{lay: mr, m: 1, pp: pF2, op: 0x7f, vex: no, evex: w0}, {lay: rm, m: 1, pp: pF2, op: 0x6f, vex: no, evex: w0}},
		"VMOVLPS":        {{lay: mr, rm: mem, m: 1, op: 0x13, vex: w0, evex: w0, unit: half}},
		"VMOVMSKPD":      {{lay: rm, m: 1, pp: p66, op: 0x50, vex: w0, evex: no}},
		"VMOVMSKPS":      {{lay: rm, m: 1, op: 0x50, vex: w0, evex: no}},
		"VMOVNTPS":       {{lay: mr, rm: mem, m: 1, op: 0x2b, vex: w0, evex: w0}},
		"VMOVQ":          {{lay: mr, rm: generalOrMemory, m: 1, pp: p66, op: 0x7e, vex: w1, evex: w1, unit: half}, {lay: mr, m: 1, pp: p66, op: 0xd6, vex: w0, evex: w1, unit: half}, {lay: rm, rm: generalOrMemory, m: 1, pp: p66, op: 0x6e, vex: w1, evex: w1, unit: half}, {lay: rm, m: 1, pp: pF3, op: 0x7e, vex: w0, evex: w1, unit: half}},
		"VMOVSD":         {{lay: mr, rm: mem, m: 1, pp: pF2, op: 0x11, vex: w0, evex: w1, unit: half}, {lay: rm, rm: mem, m: 1, pp: pF2, op: 0x10, vex: w0, evex: w1, unit: 0}},
		"VMOVSS":         {{lay: mr, rm: mem, m: 1, pp: pF3, op: 0x11, vex: w0, evex: w0, unit: quarter}, {lay: rm, rm: mem, m: 1, pp: pF3, op: 0x10, vex: w0, evex: w0, unit: 0}},
		"VMOVUPD":        {{lay: mr, m: 1, pp: p66, op: 0x11, vex: w0, evex: w1}, {lay: rm, m: 1, pp: p66, op: 0x10, vex: w0, evex: w1}},
		"VMOVUPS":        {{lay: mr, m: 1, op: 0x11, vex: w0, evex: w0}, {lay: rm, m: 1, op: 0x10, vex: w0, evex: w0}},
		"VMULPD":         {{lay: rvm, m: 1, pp: p66, op: 0x59, vex: w0, evex: w1, bcst: 8}},
		"VMULPS":         {{lay: rvm, m: 1, op: 0x59, vex: w0, evex: w0, bcst: 4}},
		"VORPD":          {{lay: rvm, m: 1, pp: p66, op: 0x56, vex: w0, evex: w1, bcst: 8}},
		"VORPS":          {{lay: rvm, m: 1, op: 0x56, vex: w0, evex: w0, bcst: 4}},
		"VPADDB":         {{lay: rvm, m: 1, pp: p66, op: 0xfc, vex: w0, evex: w0}},
		"VPADDD":         {{lay: rvm, m: 1, pp: p66, op: 0xfe, vex: w0, evex: w0, bcst: 4}},
		"VPADDQ":         {{lay: rvm, m: 1, pp: p66, op: 0xd4, vex: w0, evex: w1, bcst: 8}},
		"VPADDW":         {{lay: rvm, m: 1, pp: p66, op: 0xfd, vex: w0, evex: w0}},
		"VPALIGNR":       {{lay: rvmi, m: 3, pp: p66, op: 0x0f, vex: w0, evex: w0}},
		"VPAND":          {{lay: rvm, m: 1, pp: p66, op: 0xdb, vex: w0, evex: no}},
		"VPANDD":         {{lay: rvm, m: 1, pp: p66, op: 0xdb, vex: no, evex: w0, bcst: 4}},
		"VPANDN":         {{lay: rvm, m: 1, pp: p66, op: 0xdf, vex: w0, evex: no}},
		"VPANDND":        {{lay: rvm, m: 1, pp: p66, op: 0xdf, vex: no, evex: w0, bcst: 4}},
		"VPANDNQ":        {{lay: rvm, m: 1, pp: p66, op: 0xdf, vex: no, evex: w1, bcst: 8}},
		"VPANDQ":         {{lay: rvm, m: 1, pp: p66, op: 0xdb, vex: no, evex: w1, bcst: 8}},
		"VPBLENDD":       {{lay: rvmi, m: 3, pp: p66, op: 0x02, vex: w0, evex: no}},
		"VPBLENDMB":      {{lay: rvm, m: 2, pp: p66, op: 0x66, vex: no, evex: w0}},
		"VPBLENDMD":      {{lay: rvm, m: 2, pp: p66, op: 0x64, vex: no, evex: w0, bcst: 4}},
		"VPBLENDMQ":      {{lay: rvm, m: 2, pp: p66, op: 0x64, vex: no, evex: w1, bcst: 8}},
		"VPBLENDMW":      {{lay: rvm, m: 2, pp: p66, op: 0x66, vex: no, evex: w1}},
		"VPBLENDVB":      {{lay: rvmr, m: 3, pp: p66, op: 0x4c, vex: w0, evex: no}},
		"VPBLENDW":       {{lay: rvmi, m: 3, pp: p66, op: 0x0e, vex: w0, evex: no}},
		"VPBROADCASTB":   {{lay: rm, m: 2, pp: p66, op: 0x78, vex: w0, evex: w0, unit: 1}},
		"VPBROADCASTQ":   {{lay: rm, m: 2, pp: p66, op: 0x59, vex: w0, evex: w1, unit: 8}},
		"VPBROADCASTW":   {{lay: rm, m: 2, pp: p66, op: 0x79, vex: w0, evex: w0, unit: 2}},
		"VPCMPB":         {{lay: rvmi, m: 3, pp: p66, op: 0x3f, vex: no, evex: w0}},
		"VPCMPD":         {{lay: rvmi, m: 3, pp: p66, op: 0x1f, vex: no, evex: w0, bcst: 4}},
		"VPCMPEQB":       {{lay: rvm, m: 1, pp: p66, op: 0x74, vex: w0, evex: w0}},
		"VPCMPEQD":       {{lay: rvm, m: 1, pp: p66, op: 0x76, vex: w0, evex: w0, bcst: 4}},
		"VPCMPEQQ":       {{lay: rvm, m: 2, pp: p66, op: 0x29, vex: w0, evex: w1, bcst: 8}},
		"VPCMPEQW":       {{lay: rvm, m: 1, pp: p66, op: 0x75, vex: w0, evex: w0}},
		"VPCMPGTB":       {{lay: rvm, m: 1, pp: p66, op: 0x64, vex: w0, evex: w0}},
		"VPCMPGTD":       {{lay: rvm, m: 1, pp: p66, op: 0x66, vex: w0, evex: w0, bcst: 4}},
		"VPCMPGTQ":       {{lay: rvm, m: 2, pp: p66, op: 0x37, vex: w0, evex: w1, bcst: 8}},
		"VPCMPGTW":       {{lay: rvm, m: 1, pp: p66, op: 0x65, vex: w0, evex: w0}},
		"VPCMPQ":         {{lay: rvmi, m: 3, pp: p66, op: 0x1f, vex: no, evex: w1, bcst: 8}},
		"VPCMPUB":        {{lay: rvmi, m: 3, pp: p66, op: 0x3e, vex: no, evex: w0}},
		"VPCMPW":         {{lay: rvmi, m: 3, pp: p66, op: 0x3f, vex: no, evex: w1}},
		"VPERM2F128":     {{lay: rvmi, m: 3, pp: p66, op: 0x06, vex: w0, evex: no}},
		"VPERMD":         {{lay: rvm, m: 2, pp: p66, op: 0x36, vex: w0, evex: w0, bcst: 4}},
		"VPERMI2D":       {{lay: rvm, m: 2, pp: p66, op: 0x76, vex: no, evex: w0, bcst: 4}},
		"VPERMI2PD":      {{lay: rvm, m: 2, pp: p66, op: 0x77, vex: no, evex: w1, bcst: 8}},
		"VPERMI2PS":      {{lay: rvm, m: 2, pp: p66, op: 0x77, vex: no, evex: w0, bcst: 4}},
		"VPERMI2Q":       {{lay: rvm, m: 2, pp: p66, op: 0x76, vex: no, evex: w1, bcst: 8}},
		"VPERMILPD":      {{lay: rmi, m: 3, pp: p66, op: 0x05, vex: w0, evex: w1, bcst: 8}, {lay: rvm, m: 2, pp: p66, op: 0x0d, vex: w0, evex: w1, bcst: 8}},
		"VPERMILPS":      {{lay: rmi, m: 3, pp: p66, op: 0x04, vex: w0, evex: w0, bcst: 4}, {lay: rvm, m: 2, pp: p66, op: 0x0c, vex: w0, evex: w0, bcst: 4}},
		"VPERMPD":        {{lay: rmi, m: 3, pp: p66, op: 0x01, vex: w1, evex: w1, bcst: 8}, {lay: rvm, m: 2, pp: p66, op: 0x16, vex: no, evex: w1, bcst: 8}},
		"VPERMPS":        {{lay: rvm, m: 2, pp: p66, op: 0x16, vex: w0, evex: w0, bcst: 4}},
		"VPERMQ":         {{lay: rmi, m: 3, pp: p66, op: 0x00, vex: w1, evex: w1, bcst: 8}, {lay: rvm, m: 2, pp: p66, op: 0x36, vex: no, evex: w1, bcst: 8}},
		"VPMAXSB":        {{lay: rvm, m: 2, pp: p66, op: 0x3c, vex: w0, evex: w0}},
		"VPMAXSD":        {{lay: rvm, m: 2, pp: p66, op: 0x3d, vex: w0, evex: w0, bcst: 4}},
		"VPMAXSQ":        {{lay: rvm, m: 2, pp: p66, op: 0x3d, vex: no, evex: w1, bcst: 8}},
		"VPMAXSW":        {{lay: rvm, m: 1, pp: p66, op: 0xee, vex: w0, evex: w0}},
		"VPMAXUB":        {{lay: rvm, m: 1, pp: p66, op: 0xde, vex: w0, evex: w0}},
		"VPMINSB":        {{lay: rvm, m: 2, pp: p66, op: 0x38, vex: w0, evex: w0}},
		"VPMINSD":        {{lay: rvm, m: 2, pp: p66, op: 0x39, vex: w0, evex: w0, bcst: 4}},
		"VPMINSQ":        {{lay: rvm, m: 2, pp: p66, op: 0x39, vex: no, evex: w1, bcst: 8}},
		"VPMINSW":        {{lay: rvm, m: 1, pp: p66, op: 0xea, vex: w0, evex: w0}},
		"VPMINUB":        {{lay: rvm, m: 1, pp: p66, op: 0xda, vex: w0, evex: w0}},
		"VPMOVB2M":       {{lay: rm, m: 2, pp: pF3, op: 0x29, vex: no, evex: w0, unit: 0}},
		"VPMOVD2M":       {{lay: rm, m: 2, pp: pF3, op: 0x39, vex: no, evex: w0, unit: 0}},
		"VPMOVDB":        {{lay: mr, m: 2, pp: pF3, op: 0x31, vex: no, evex: w0, unit: quarter}},
		"VPMOVDW":        {{lay: mr, m: 2, pp: pF3, op: 0x33, vex: no, evex: w0, unit: half}},
		"VPMOVQ2M":       {{lay: rm, m: 2, pp: pF3, op: 0x39, vex: no, evex: w1, unit: 0}},
		"VPMOVQB":        {{lay: mr, m: 2, pp: pF3, op: 0x32, vex: no, evex: w0, unit: eighth}},
		"VPMOVQD":        {{lay: mr, m: 2, pp: pF3, op: 0x35, vex: no, evex: w0, unit: half}},
		"VPMOVQW":        {{lay: mr, m: 2, pp: pF3, op: 0x34, vex: no, evex: w0, unit: quarter}},
		"VPMOVSXBD":      {{lay: rm, m: 2, pp: p66, op: 0x21, vex: w0, evex: w0, unit: quarter}},
		"VPMOVSXBQ":      {{lay: rm, m: 2, pp: p66, op: 0x22, vex: w0, evex: w0, unit: eighth}},
		"VPMOVSXBW":      {{lay: rm, m: 2, pp: p66, op: 0x20, vex: w0, evex: w0, unit: half}},
		"VPMOVSXDQ":      {{lay: rm, m: 2, pp: p66, op: 0x25, vex: w0, evex: w0, unit: half}},
		"VPMOVSXWD":      {{lay: rm, m: 2, pp: p66, op: 0x23, vex: w0, evex: w0, unit: half}},
		"VPMOVSXWQ":      {{lay: rm, m: 2, pp: p66, op: 0x24, vex: w0, evex: w0, unit: quarter}},
		"VPMOVW2M":       {{lay: rm, m: 2, pp: pF3, op: 0x29, vex: no, evex: w1, unit: 0}},
		"VPMOVWB":        {{lay: mr, m: 2, pp: pF3, op: 0x30, vex: no, evex: w0, unit: half}},
		"VPMOVZXBD":      {{lay: rm, m: 2, pp: p66, op: 0x31, vex: w0, evex: w0, unit: quarter}},
		"VPMOVZXBQ":      {{lay: rm, m: 2, pp: p66, op: 0x32, vex: w0, evex: w0, unit: eighth}},
		"VPMOVZXBW":      {{lay: rm, m: 2, pp: p66, op: 0x30, vex: w0, evex: w0, unit: half}},
		"VPMOVZXWD":      {{lay: rm, m: 2, pp: p66, op: 0x33, vex: w0, evex: w0, unit: half}},
		"VPMULLD":        {{lay: rvm, m: 2, pp: p66, op: 0x40, vex: w0, evex: w0, bcst: 4}},
		"VPMULLQ":        {{lay: rvm, m: 2, pp: p66, op: 0x40, vex: no, evex: w1, bcst: 8}},
		"VPMULLW":        {{lay: rvm, m: 1, pp: p66, op: 0xd5, vex: w0, evex: w0}},
		"VPMULUDQ":       {{lay: rvm, m: 1, pp: p66, op: 0xf4, vex: w0, evex: w1, bcst: 8}},
		"VPOR":           {{lay: rvm, m: 1, pp: p66, op: 0xeb, vex: w0, evex: no}},
		"VPORD":          {{lay: rvm, m: 1, pp: p66, op: 0xeb, vex: no, evex: w0, bcst: 4}},
		"VPORQ":          {{lay: rvm, m: 1, pp: p66, op: 0xeb, vex: no, evex: w1, bcst: 8}},
		"VPSHUFB":        {{lay: rvm, m: 2, pp: p66, op: 0x00, vex: w0, evex: w0}},
		"VPSHUFD":        {{lay: rmi, m: 1, pp: p66, op: 0x70, vex: w0, evex: w0, bcst: 4}},
		"VPSLLD":         {{lay: vmi, m: 1, pp: p66, op: 0x72, ext: 6, vex: w0, evex: w0, bcst: 4}},
		"VPSLLQ":         {{lay: vmi, m: 1, pp: p66, op: 0x73, ext: 6, vex: w0, evex: w1, bcst: 8}},
		"VPSLLVD":        {{lay: rvm, m: 2, pp: p66, op: 0x47, vex: w0, evex: w0, bcst: 4}},
		"VPSLLVQ":        {{lay: rvm, m: 2, pp: p66, op: 0x47, vex: w1, evex: w1, bcst: 8}},
		"VPSLLVW":        {{lay: rvm, m: 2, pp: p66, op: 0x12, vex: no, evex: w1}},
		"VPSLLW":         {{lay: vmi, m: 1, pp: p66, op: 0x71, ext: 6, vex: w0, evex: w0}},
		"VPSRAD":         {{lay: vmi, m: 1, pp: p66, op: 0x72, ext: 4, vex: w0, evex: w0, bcst: 4}},
		"VPSRAQ":         {{lay: vmi, m: 1, pp: p66, op: 0x72, ext: 4, vex: no, evex: w1, bcst: 8}},
		"VPSRAVD":        {{lay: rvm, m: 2, pp: p66, op: 0x46, vex: w0, evex: w0, bcst: 4}},
		"VPSRAVQ":        {{lay: rvm, m: 2, pp: p66, op: 0x46, vex: no, evex: w1, bcst: 8}},
		"VPSRAVW":        {{lay: rvm, m: 2, pp: p66, op: 0x11, vex: no, evex: w1}},
		"VPSRAW":         {{lay: vmi, m: 1, pp: p66, op: 0x71, ext: 4, vex: w0, evex: w0}},
		"VPSRLD":         {{lay: vmi, m: 1, pp: p66, op: 0x72, ext: 2, vex: w0, evex: w0, bcst: 4}},
		"VPSRLDQ":        {{lay: vmi, m: 1, pp: p66, op: 0x73, ext: 3, vex: w0, evex: w0}},
		"VPSRLQ":         {{lay: vmi, m: 1, pp: p66, op: 0x73, ext: 2, vex: w0, evex: w1, bcst: 8}},
		"VPSRLVD":        {{lay: rvm, m: 2, pp: p66, op: 0x45, vex: w0, evex: w0, bcst: 4}},
		"VPSRLVQ":        {{lay: rvm, m: 2, pp: p66, op: 0x45, vex: w1, evex: w1, bcst: 8}},
		"VPSRLVW":        {{lay: rvm, m: 2, pp: p66, op: 0x10, vex: no, evex: w1}},
		"VPSRLW":         {{lay: vmi, m: 1, pp: p66, op: 0x71, ext: 2, vex: w0, evex: w0}},
		"VPSUBB":         {{lay: rvm, m: 1, pp: p66, op: 0xf8, vex: w0, evex: w0}},
		"VPSUBD":         {{lay: rvm, m: 1, pp: p66, op: 0xfa, vex: w0, evex: w0, bcst: 4}},
		"VPSUBQ":         {{lay: rvm, m: 1, pp: p66, op: 0xfb, vex: w0, evex: w1, bcst: 8}},
		"VPSUBW":         {{lay: rvm, m: 1, pp: p66, op: 0xf9, vex: w0, evex: w0}},
		"VPTERNLOGD":     {{lay: rvmi, m: 3, pp: p66, op: 0x25, vex: no, evex: w0, bcst: 4}},
		"VPTERNLOGQ":     {{lay: rvmi, m: 3, pp: p66, op: 0x25, vex: no, evex: w1, bcst: 8}},
		"VPTESTMB":       {{lay: rvm, m: 2, pp: p66, op: 0x26, vex: no, evex: w0}},
		"VPTESTMD":       {{lay: rvm, m: 2, pp: p66, op: 0x27, vex: no, evex: w0, bcst: 4}},
		"VPTESTMQ":       {{lay: rvm, m: 2, pp: p66, op: 0x27, vex: no, evex: w1, bcst: 8}},
		"VPTESTMW":       {{lay: rvm, m: 2, pp: p66, op: 0x26, vex: no, evex: w1}},
		"VPTESTNMD":      {{lay: rvm, m: 2, pp: pF3, op: 0x27, vex: no, evex: w0, bcst: 4}},
		"VPTESTNMQ":      {{lay: rvm, m: 2, pp: pF3, op: 0x27, vex: no, evex: w1, bcst: 8}},
		"VPUNPCKLDQ":     {{lay: rvm, m: 1, pp: p66, op: 0x62, vex: w0, evex: w0, bcst: 4}},
		"VPUNPCKLQDQ":    {{lay: rvm, m: 1, pp: p66, op: 0x6c, vex: w0, evex: w1, bcst: 8}},
		"VPUNPCKLWD":     {{lay: rvm, m: 1, pp: p66, op: 0x61, vex: w0, evex: w0}},
		"VPXOR":          {{lay: rvm, m: 1, pp: p66, op: 0xef, vex: w0, evex: no}},
		"VPXORD":         {{lay: rvm, m: 1, pp: p66, op: 0xef, vex: no, evex: w0, bcst: 4}},
		"VPXORQ":         {{lay: rvm, m: 1, pp: p66, op: 0xef, vex: no, evex: w1, bcst: 8}},
		"VRANGEPD":       {{lay: rvmi, m: 3, pp: p66, op: 0x50, vex: no, evex: w1, bcst: 8}},
		"VRANGEPS":       {{lay: rvmi, m: 3, pp: p66, op: 0x50, vex: no, evex: w0, bcst: 4}},
		"VRCP14PS":       {{lay: rm, m: 2, pp: p66, op: 0x4c, vex: no, evex: w0, bcst: 4}},
		"VRNDSCALEPD":    {{lay: rmi, m: 3, pp: p66, op: 0x09, vex: no, evex: w1, bcst: 8}},
		"VRNDSCALEPS":    {{lay: rmi, m: 3, pp: p66, op: 0x08, vex: no, evex: w0, bcst: 4}},
		"VROUNDPD":       {{lay: rmi, m: 3, pp: p66, op: 0x09, vex: w0, evex: no}},
		"VROUNDPS":       {{lay: rmi, m: 3, pp: p66, op: 0x08, vex: w0, evex: no}},
		"VRSQRT14PS":     {{lay: rm, m: 2, pp: p66, op: 0x4e, vex: no, evex: w0, bcst: 4}},
		"VSCALEFPD":      {{lay: rvm, m: 2, pp: p66, op: 0x2c, vex: no, evex: w1, bcst: 8}},
		"VSCALEFPS":      {{lay: rvm, m: 2, pp: p66, op: 0x2c, vex: no, evex: w0, bcst: 4}},
		"VSHUFF64X2":     {{lay: rvmi, m: 3, pp: p66, op: 0x23, vex: no, evex: w1, bcst: 8}},
		"VSQRTPD":        {{lay: rm, m: 1, pp: p66, op: 0x51, vex: w0, evex: w1, bcst: 8}},
		"VSQRTPS":        {{lay: rm, m: 1, op: 0x51, vex: w0, evex: w0, bcst: 4}},
		"VSUBPD":         {{lay: rvm, m: 1, pp: p66, op: 0x5c, vex: w0, evex: w1, bcst: 8}},
		"VSUBPS":         {{lay: rvm, m: 1, op: 0x5c, vex: w0, evex: w0, bcst: 4}},
		"VXORPD":         {{lay: rvm, m: 1, pp: p66, op: 0x57, vex: w0, evex: w1, bcst: 8}},
		"VXORPS":         {{lay: rvm, m: 1, op: 0x57, vex: w0, evex: w0, bcst: 4}},

		"BZHIQ": {{lay: rmv, rm: generalOrMemory, m: 2, op: 0xf5, vex: w1}},

		"KANDNQ":     {{lay: rvm, rm: maskOnly, m: 1, op: 0x42, vex: w1, long: true}},
		"KANDQ":      {{lay: rvm, rm: maskOnly, m: 1, op: 0x41, vex: w1, long: true}},
		"KMOVQ":      {{lay: mr, rm: mem, m: 1, op: 0x91, vex: w1}, {lay: rm, rm: maskOrMemory, m: 1, op: 0x90, vex: w1}, {lay: rm, rm: generalOnly, m: 1, pp: pF2, op: 0x92, vex: w1}, {lay: rm, rm: maskOnly, m: 1, pp: pF2, op: 0x93, vex: w1}},
		"KMOVW":      {{lay: mr, rm: mem, m: 1, op: 0x91, vex: w0}, {lay: rm, rm: maskOrMemory, m: 1, op: 0x90, vex: w0}, {lay: rm, rm: generalOnly, m: 1, op: 0x92, vex: w0}, {lay: rm, rm: maskOnly, m: 1, op: 0x93, vex: w0}},
		"KNOTQ":      {{lay: rm, rm: maskOnly, m: 1, op: 0x44, vex: w1}},
		"KORQ":       {{lay: rvm, rm: maskOnly, m: 1, op: 0x45, vex: w1, long: true}},
		"KORTESTB":   {{lay: rm, rm: maskOnly, m: 1, pp: p66, op: 0x98, vex: w0}},
		"KORTESTW":   {{lay: rm, rm: maskOnly, m: 1, op: 0x98, vex: w0}},
		"KORW":       {{lay: rvm, rm: maskOnly, m: 1, op: 0x45, vex: w0, long: true}},
		"KXORQ":      {{lay: rvm, rm: maskOnly, m: 1, op: 0x47, vex: w1, long: true}},
		"KXORW":      {{lay: rvm, rm: maskOnly, m: 1, op: 0x47, vex: w0, long: true}},
		"VZEROUPPER": {{lay: alone, m: 1, op: 0x77, vex: w0}},
	}
})
