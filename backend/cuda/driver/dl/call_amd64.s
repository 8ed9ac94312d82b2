//go:build linux && !android && !nocuda

#include "textflag.h"

// func trampoline(b *block), by the C calling convention, on the system's stack.
// Offsets in a block: args 0, f 128, first 136, context 144, result 152, failed 160.

GLOBL ·trampoline(SB), NOPTR|RODATA, $8
DATA ·trampoline(SB)/8, $code<>(SB)

TEXT code<>(SB), NOSPLIT, $96
	MOVQ DI, 80(SP)
	MOVQ $0, 160(DI)
	MOVQ 136(DI), AX
	TESTQ AX, AX
	JZ second
	MOVQ 144(DI), DI
	CALL AX
	TESTL AX, AX
	JNZ failed
second:
	MOVQ 80(SP), R11
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
	XORL AX, AX
	CALL R10
	MOVQ 80(SP), DI
	MOVQ AX, 152(DI)
	XORL AX, AX
	RET
failed:
	MOVQ 80(SP), DI
	MOVQ AX, 152(DI)
	MOVQ $1, 160(DI)
	XORL AX, AX
	RET
