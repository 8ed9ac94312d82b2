//go:build linux && !android && !nocuda

#include "textflag.h"

// func trampoline(b *block), by the C calling convention, on the system's stack.
// Offsets in a block: args 0, f 144, first 152, context 160, result 168, failed 176.

GLOBL ·trampoline(SB), NOPTR|RODATA, $8
DATA ·trampoline(SB)/8, $code<>(SB)

TEXT code<>(SB), NOSPLIT, $0
	SUB $96, RSP // ten arguments, and the block
	MOVD R0, 80(RSP)
	MOVD ZR, 176(R0)
	MOVD 152(R0), R9
	CBZ R9, second
	MOVD 160(R0), R0
	BL (R9)
	CBNZW R0, failed
second:
	MOVD 80(RSP), R9
	MOVD 64(R9), R10
	MOVD R10, 0(RSP)
	MOVD 72(R9), R10
	MOVD R10, 8(RSP)
	MOVD 80(R9), R10
	MOVD R10, 16(RSP)
	MOVD 88(R9), R10
	MOVD R10, 24(RSP)
	MOVD 96(R9), R10
	MOVD R10, 32(RSP)
	MOVD 104(R9), R10
	MOVD R10, 40(RSP)
	MOVD 112(R9), R10
	MOVD R10, 48(RSP)
	MOVD 120(R9), R10
	MOVD R10, 56(RSP)
	MOVD 128(R9), R10
	MOVD R10, 64(RSP)
	MOVD 136(R9), R10
	MOVD R10, 72(RSP)
	MOVD 0(R9), R0
	MOVD 8(R9), R1
	MOVD 16(R9), R2
	MOVD 24(R9), R3
	MOVD 32(R9), R4
	MOVD 40(R9), R5
	MOVD 48(R9), R6
	MOVD 56(R9), R7
	MOVD 144(R9), R10
	FMOVD ZR, F0 // an argument that is a floating-point number is 0
	BL (R10)
	MOVD 80(RSP), R9
	MOVD R0, 168(R9)
	B done
failed:
	MOVD 80(RSP), R9
	MOVD R0, 168(R9)
	MOVD $1, R10
	MOVD R10, 176(R9)
done:
	MOVD ZR, R0
	ADD $96, RSP
	RET
