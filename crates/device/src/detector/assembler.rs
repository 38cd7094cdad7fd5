//! An assembler for the few BPF instructions that the detector needs: one function for each, and labels.
//!
//! The encoding is RFC 9669, *BPF Instruction Set Architecture*; the comments below refer to its sections.

/// A register. `R0` carries results, `R1` to `R5` arguments, `R6` and `R7` survive calls, `FP` is the end of the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reg {
    R0 = 0,
    R1 = 1,
    R2 = 2,
    R3 = 3,
    R4 = 4,
    R6 = 6,
    R7 = 7,
    Fp = 10,
}

/// How many bytes of memory an instruction accesses (section 5, size modifiers).
#[derive(Clone, Copy, Debug)]
pub(super) enum OperandSize {
    /// 4 bytes.
    Word = 0x00,
    /// 2 bytes.
    Half = 0x08,
    /// 1 byte.
    Byte = 0x10,
    /// 8 bytes.
    Double = 0x18,
}

/// Condition of a jump: compares the lower 32 bits of a register with a constant (section 4.3).
#[derive(Clone, Copy, Debug)]
pub(super) enum JumpCondition {
    Equal = 0x10,
    /// Unsigned.
    AtLeast = 0x30,
    NotEqual = 0x50,
    /// Unsigned.
    Below = 0xa0,
}

/// Meaning of a 64-bit constant (section 5.4).
#[derive(Clone, Copy, Debug)]
pub(super) enum Constant {
    /// The number itself.
    Number(u64),
    /// The map with this file descriptor.
    Map(i32),
    /// The address of the first byte of the only value of the array map with this file descriptor.
    MapValue(i32),
}

/// A function of the kernel (`enum bpf_func_id` in linux/bpf.h). None of them is reserved for GPL programs.
#[derive(Clone, Copy, Debug)]
pub(super) enum Helper {
    /// `CLOCK_MONOTONIC` in nanoseconds.
    KtimeNs = 5,
    /// The number of the caller's cgroup (v2) (since Linux 4.18).
    CurrentCgroupId = 80,
    /// Process and thread of the caller as a given PID namespace numbers them (since Linux 5.7).
    NsCurrentPidTgid = 120,
    /// Copies a record into a ring (since Linux 5.8).
    RingbufOutput = 130,
}

/// A place in the program to jump to, forwards only.
#[derive(Clone, Copy, Debug)]
pub(super) struct JumpLabel(usize);

/// A program under construction.
#[derive(Debug, Default)]
pub(super) struct Assembler {
    words: Vec<u64>,
    /// The jumps whose label is not placed yet: index and label of each.
    jumps: Vec<(usize, JumpLabel)>,
    labels: usize,
}

impl Assembler {
    /// `to = from`.
    pub(super) fn copy(&mut self, to: Reg, from: Reg) {
        self.push(0xbf, to, from, 0, 0);
    }

    /// `to = constant`, extended with its sign.
    pub(super) fn set(&mut self, to: Reg, constant: i32) {
        self.push(0xb7, to, Reg::R0, 0, constant);
    }

    /// `to = constant`, with all 64 bits: two words.
    pub(super) fn set_wide(&mut self, to: Reg, constant: Constant) {
        let (kind, value) = match constant {
            Constant::Number(value) => (Reg::R0, value),
            Constant::Map(fd) => (Reg::R1, u64::from(fd as u32)),
            Constant::MapValue(fd) => (Reg::R2, u64::from(fd as u32)),
        };
        self.push(0x18, to, kind, 0, value as i32);
        self.push(0, Reg::R0, Reg::R0, 0, (value >> 32) as i32);
    }

    /// `to += constant`.
    pub(super) fn add(&mut self, to: Reg, constant: i32) {
        self.push(0x07, to, Reg::R0, 0, constant);
    }

    /// `to |= constant`.
    pub(super) fn or(&mut self, to: Reg, constant: i32) {
        self.push(0x47, to, Reg::R0, 0, constant);
    }

    /// `to |= from`.
    pub(super) fn or_with(&mut self, to: Reg, from: Reg) {
        self.push(0x4f, to, from, 0, 0);
    }

    /// `to <<= bits`.
    pub(super) fn shift_left(&mut self, to: Reg, bits: i32) {
        self.push(0x67, to, Reg::R0, 0, bits);
    }

    /// `to = *(base + offset)`, extended with zeros.
    pub(super) fn load(&mut self, size: OperandSize, to: Reg, base: Reg, offset: i16) {
        self.push(0x61 | size as u8, to, base, offset, 0);
    }

    /// `*(base + offset) = from`.
    pub(super) fn store(&mut self, size: OperandSize, base: Reg, offset: i16, from: Reg) {
        self.push(0x63 | size as u8, base, from, offset, 0);
    }

    /// `*(base + offset) += from`, 8 bytes, atomically.
    pub(super) fn add_atomic(&mut self, base: Reg, offset: i16, from: Reg) {
        self.push(0xc3 | OperandSize::Double as u8, base, from, offset, 0);
    }

    /// Calls a function of the kernel: arguments in `R1` to `R5`, which are lost, result in `R0`.
    pub(super) fn call(&mut self, helper: Helper) {
        self.push(0x85, Reg::R0, Reg::R0, 0, helper as i32);
    }

    /// Jumps to `label` when the lower half of `reg` compares with `constant` as `condition` requires.
    pub(super) fn jump_if(&mut self, reg: Reg, condition: JumpCondition, constant: u32, label: JumpLabel) {
        self.jumps.push((self.words.len(), label));
        self.push(0x06 | condition as u8, reg, Reg::R0, 0, constant as i32);
    }

    /// Ends the program; the result is in `R0`.
    pub(super) fn exit(&mut self) {
        self.push(0x95, Reg::R0, Reg::R0, 0, 0);
    }

    /// A new label, to be placed later by [`Assembler::place`].
    pub(super) fn label(&mut self) -> JumpLabel {
        self.labels += 1;
        JumpLabel(self.labels)
    }

    /// Makes all jumps to `label` so far lead to the next instruction.
    pub(super) fn place(&mut self, label: JumpLabel) {
        let target = self.words.len();
        for (at, _) in self.jumps.extract_if(.., |(_, to)| to.0 == label.0) {
            let distance = i16::try_from(target - at - 1).expect("programs are short");
            self.words[at] |= encode(0, 0, distance, 0);
        }
    }

    /// The finished program, one instruction per word.
    ///
    /// # Panics
    /// When a jump leads to a label that was never placed.
    pub(super) fn finish(self) -> Vec<u64> {
        assert!(self.jumps.is_empty(), "a label was not placed");
        self.words
    }

    fn push(&mut self, code: u8, to: Reg, from: Reg, offset: i16, constant: i32) {
        let (to, from) = (to as u8, from as u8);
        let regs = if cfg!(target_endian = "big") { to << 4 | from } else { from << 4 | to };
        self.words.push(encode(code, regs, offset, constant));
    }
}

/// One instruction as it is in memory (section 3): code, registers, offset, constant.
fn encode(code: u8, regs: u8, offset: i16, constant: i32) -> u64 {
    let ([o0, o1], [c0, c1, c2, c3]) = (offset.to_ne_bytes(), constant.to_ne_bytes());
    u64::from_ne_bytes([code, regs, o0, o1, c0, c1, c2, c3])
}

#[cfg(all(test, target_endian = "little"))]
mod tests {
    use super::*;

    /// The words of the program that `write` writes.
    fn assemble(write: impl FnOnce(&mut Assembler)) -> Vec<u64> {
        let mut asm = Assembler::default();
        write(&mut asm);
        asm.finish()
    }

    /// The words on the right are computed by hand from the tables of the RFC; the comments are in LLVM's syntax.
    #[test]
    fn instructions_are_encoded_as_in_the_rfc() {
        // r6 = r1
        assert_eq!(assemble(|asm| asm.copy(Reg::R6, Reg::R1)), [0x0000_0000_0000_16bf]);
        // r0 = -1
        assert_eq!(assemble(|asm| asm.set(Reg::R0, -1)), [0xffff_ffff_0000_00b7]);
        // r1 = 0x123456789 ll
        let wide = Constant::Number(0x1_2345_6789);
        assert_eq!(assemble(|asm| asm.set_wide(Reg::R1, wide)), [0x2345_6789_0000_0118, 0x0000_0001_0000_0000]);
        // r2 += -8
        assert_eq!(assemble(|asm| asm.add(Reg::R2, -8)), [0xffff_fff8_0000_0207]);
        // r0 |= 1
        assert_eq!(assemble(|asm| asm.or(Reg::R0, 1)), [0x0000_0001_0000_0047]);
        // r0 |= r7
        assert_eq!(assemble(|asm| asm.or_with(Reg::R0, Reg::R7)), [0x0000_0000_0000_704f]);
        // r0 <<= 1
        assert_eq!(assemble(|asm| asm.shift_left(Reg::R0, 1)), [0x0000_0001_0000_0067]);
        // r1 = *(u32 *)(r6 + 8), *(u16 *)(r6 + 32), *(u8 *)(r6 + 34)
        assert_eq!(assemble(|asm| asm.load(OperandSize::Word, Reg::R1, Reg::R6, 8)), [0x0000_0000_0008_6161]);
        assert_eq!(assemble(|asm| asm.load(OperandSize::Half, Reg::R1, Reg::R6, 32)), [0x0000_0000_0020_6169]);
        assert_eq!(assemble(|asm| asm.load(OperandSize::Byte, Reg::R1, Reg::R6, 34)), [0x0000_0000_0022_6171]);
        // *(u64 *)(r10 - 8) = r0
        assert_eq!(assemble(|asm| asm.store(OperandSize::Double, Reg::Fp, -8, Reg::R0)), [0x0000_0000_fff8_0a7b]);
        // lock *(u64 *)(r1 + 0) += r2
        assert_eq!(assemble(|asm| asm.add_atomic(Reg::R1, 0, Reg::R2)), [0x0000_0000_0000_21db]);
        // call 5; exit
        assert_eq!(assemble(|asm| asm.call(Helper::KtimeNs)), [0x0000_0005_0000_0085]);
        assert_eq!(assemble(Assembler::exit), [0x0000_0000_0000_0095]);
    }

    #[test]
    fn maps_are_named_by_their_descriptors() {
        assert_eq!(assemble(|asm| asm.set_wide(Reg::R1, Constant::Map(7)))[0], 0x0000_0007_0000_1118);
        assert_eq!(assemble(|asm| asm.set_wide(Reg::R1, Constant::MapValue(7)))[0], 0x0000_0007_0000_2118);
    }

    #[test]
    fn jumps_lead_to_their_labels() {
        let words = assemble(|asm| {
            let (near, far) = (asm.label(), asm.label());
            asm.jump_if(Reg::R1, JumpCondition::NotEqual, 0xffff_ffff, far); // if w1 != -1 goto +3
            asm.jump_if(Reg::R1, JumpCondition::AtLeast, 24576, near); // if w1 >= 24576 goto +1
            asm.jump_if(Reg::R1, JumpCondition::Equal, 0, far); // if w1 == 0 goto +1
            asm.place(near);
            asm.set(Reg::R0, 0);
            asm.place(far);
            asm.exit();
        });
        let jumps = [0xffff_ffff_0003_0156, 0x0000_6000_0001_0136, 0x0000_0000_0001_0116];
        assert_eq!(words[..3], jumps);
    }

    #[test]
    #[should_panic(expected = "a label was not placed")]
    fn a_jump_to_a_label_that_was_not_placed_is_refused() {
        assemble(|asm| {
            let label = asm.label();
            asm.jump_if(Reg::R1, JumpCondition::Equal, 0, label);
        });
    }
}
