//go:build linux && !android && !nocuda

#include "textflag.h"

// func trampoline(b *block), by the C calling convention, on the system's stack.
// Offsets in a block: args 0, f 144, first 152, context 160, result 168, failed 176.

GLOBL ·trampoline(SB), NOPTR|RODATA, $8
DATA ·trampoline(SB)/8, $code<>(SB)

TEXT code<>(SB), NOSPLIT, $112
	MOVQ DI, 96(SP)
	MOVQ $0, 176(DI)
	MOVQ 152(DI), AX
	TESTQ AX, AX
	JZ second
	MOVQ 160(DI), DI
	CALL AX
	TESTL AX, AX
	JNZ failed
second:
	MOVQ 96(SP), R11
	MOVQ 0(R11), DI
	MOVQ 8(R11), SI
	MOVQ 16(R11), DX
	MOVQ 24(R11), CX
	MOVQ 32(R11), R8
	MOVQ 40(R11), R9
	MOVQ 48(R11), R10
	MOVQ R10, 0(SP)
	MOVQ 56(R11), R10
	MOVQ R10, 8(SP)
	MOVQ 64(R11), R10
	MOVQ R10, 16(SP)
	MOVQ 72(R11), R10
	MOVQ R10, 24(SP)
	MOVQ 80(R11), R10
	MOVQ R10, 32(SP)
	MOVQ 88(R11), R10
	MOVQ R10, 40(SP)
	MOVQ 96(R11), R10
	MOVQ R10, 48(SP)
	MOVQ 104(R11), R10
	MOVQ R10, 56(SP)
	MOVQ 112(R11), R10
	MOVQ R10, 64(SP)
	MOVQ 120(R11), R10
	MOVQ R10, 72(SP)
	MOVQ 128(R11), R10
	MOVQ R10, 80(SP)
	MOVQ 136(R11), R10
	MOVQ R10, 88(SP)
	MOVQ 144(R11), R10
	XORPS X0, X0 // an argument that is a floating-point number is 0
	XORL AX, AX
	CALL R10
	MOVQ 96(SP), DI
	MOVQ AX, 168(DI)
	XORL AX, AX
	RET
failed:
	MOVQ 96(SP), DI
	MOVQ AX, 168(DI)
	MOVQ $1, 176(DI)
	XORL AX, AX
	RET
