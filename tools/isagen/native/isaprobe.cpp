// SPDX-License-Identifier: Apache-2.0
//
// A batch C interface over LLVM's AMDGPU MC layer, for `tools/isagen` through ctypes.
//
// Every function takes whole arrays, because a target is described by millions of questions.
// Buffers hold `count` windows of `stride` bytes each; a window starts with the encoding in
// question and is long enough for its literals.

#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCCodeEmitter.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCDisassembler/MCDisassembler.h"
#include "llvm/MC/MCExpr.h"
#include "llvm/MC/MCFixup.h"
#include "llvm/MC/MCInst.h"
#include "llvm/MC/MCInstPrinter.h"
#include "llvm/MC/MCInstrDesc.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/MCTargetOptions.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Triple.h"

#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

using namespace llvm;

extern "C" {
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTargetMC();
void LLVMInitializeAMDGPUDisassembler();
}

// The header that declares these is private to LLVM; the symbols are in its libraries.
namespace llvm::AMDGPU {
enum class OpName : unsigned char;
int8_t getNamedOperandIdx(uint16_t Opcode, OpName Name);
} // namespace llvm::AMDGPU

namespace {

struct Target_ {
  MCTargetOptions Options;
  std::unique_ptr<MCRegisterInfo> Registers;
  std::unique_ptr<MCAsmInfo> AsmInfo;
  std::unique_ptr<MCSubtargetInfo> Subtarget;
  std::unique_ptr<MCInstrInfo> Instructions;
  std::unique_ptr<MCContext> Context;
  std::unique_ptr<MCDisassembler> Disassembler;
  std::unique_ptr<MCInstPrinter> Printer;
  std::unique_ptr<MCCodeEmitter> Emitter;
};

// Operand kinds in arrays.
enum : uint8_t { KindRegister = 1, KindImmediate = 2, KindExpression = 3, KindOther = 4 };

// Status of a decode; the others are MCDisassembler::DecodeStatus.
enum : uint8_t { StatusCrash = 9 };

// LLVM 22.1.8's disassembler, printer and encoder die on some nonsense (a literal that is cut off,
// reserved field values in unreachable defaults).  A signal takes us back to `guarded`.
sigjmp_buf Recovery;
volatile sig_atomic_t Armed = 0;

void recover(int Signal) {
  if (Armed)
    siglongjmp(Recovery, Signal);
  signal(Signal, SIG_DFL);
  raise(Signal);
}

template <typename Action> bool guarded(Action Do) {
  if (sigsetjmp(Recovery, 1) != 0) {
    Armed = 0;
    return false;
  }
  Armed = 1;
  Do();
  Armed = 0;
  return true;
}

void initialize() {
  static bool Done = false;
  if (Done)
    return;
  Done = true;
  LLVMInitializeAMDGPUTargetInfo();
  LLVMInitializeAMDGPUTargetMC();
  LLVMInitializeAMDGPUDisassembler();
  struct sigaction Handler;
  memset(&Handler, 0, sizeof Handler);
  Handler.sa_handler = recover;
  Handler.sa_flags = SA_NODEFER;
  for (int Signal : {SIGSEGV, SIGILL, SIGBUS, SIGFPE, SIGABRT, SIGTRAP})
    sigaction(Signal, &Handler, nullptr);
}

uint8_t decode(Target_ *T, MCInst &Inst, uint64_t &Size, ArrayRef<uint8_t> Bytes) {
  MCDisassembler::DecodeStatus Status = MCDisassembler::Fail;
  bool Survived = guarded(
      [&] { Status = T->Disassembler->getInstruction(Inst, Size, Bytes, 0, nulls()); });
  return Survived ? static_cast<uint8_t>(Status) : static_cast<uint8_t>(StatusCrash);
}

void readOperand(const MCOperand &Operand, uint8_t *Kind, int64_t *Value) {
  *Value = 0;
  if (Operand.isReg()) {
    *Kind = KindRegister;
    *Value = Operand.getReg().id();
  } else if (Operand.isImm()) {
    *Kind = KindImmediate;
    *Value = Operand.getImm();
  } else {
    int64_t Absolute;
    bool Known = Operand.isExpr() && Operand.getExpr()->evaluateAsAbsolute(Absolute);
    *Kind = Known ? KindExpression : KindOther;
    if (Known)
      *Value = Absolute;
  }
}

// ------------------------------------------------------------------------------------- JSON
std::string quoted(StringRef Text) {
  std::string Out = "\"";
  for (char C : Text) {
    if (C == '"' || C == '\\')
      Out += '\\';
    if (C == '\t')
      Out += "\\t";
    else
      Out += C;
  }
  return Out + '"';
}

template <typename Range, typename Render> std::string list(const Range &Items, Render Show) {
  std::string Out = "[";
  for (const auto &Item : Items) {
    if (Out.size() > 1)
      Out += ',';
    Out += Show(Item);
  }
  return Out + "]";
}

void describeRegisters(const MCRegisterInfo &Registers, FILE *File) {
  for (unsigned Id = 1; Id < Registers.getNumRegs(); ++Id)
    fprintf(File, "{\"t\":\"register\",\"id\":%u,\"name\":%s,\"encoding\":%u}\n", Id,
            quoted(Registers.getName(Id)).c_str(), (unsigned)Registers.getEncodingValue(Id));
  for (unsigned Id = 0; Id < Registers.getNumRegClasses(); ++Id) {
    const MCRegisterClass &Class = Registers.getRegClass(Id);
    std::string Members = list(Class, [](MCPhysReg R) { return std::to_string(R); });
    fprintf(File, "{\"t\":\"class\",\"id\":%u,\"name\":%s,\"bits\":%u,\"members\":%s}\n", Id,
            quoted(Registers.getRegClassName(&Class)).c_str(), (unsigned)Class.RegSizeInBits,
            Members.c_str());
  }
}

// [register class, operand info flags, operand type, tied to or -1, early clobber]
std::string describeOperand(const Target_ &T, const MCInstrDesc &Desc, unsigned Index) {
  const MCOperandInfo &Info = Desc.operands()[Index];
  int Class = Info.RegClass;
  if (Info.isLookupRegClassByHwMode())
    Class = T.Instructions->getOpRegClassID(
        Info, T.Subtarget->getHwMode(MCSubtargetInfo::HwMode_RegInfo));
  return "[" + std::to_string(Class) + "," + std::to_string((int)Info.Flags) + "," +
         std::to_string((int)Info.OperandType) + "," +
         std::to_string(Desc.getOperandConstraint(Index, MCOI::TIED_TO)) + "," +
         (Desc.getOperandConstraint(Index, MCOI::EARLY_CLOBBER) >= 0 ? "1" : "0") + "]";
}

void describeInstruction(const Target_ &T, unsigned Opcode, unsigned RoleCount, FILE *File) {
  const MCInstrDesc &Desc = T.Instructions->get(Opcode);
  auto Register = [&](MCPhysReg R) { return quoted(T.Registers->getName(R)); };
  std::string Operands = "[", Roles = "[";
  for (unsigned I = 0; I < Desc.getNumOperands(); ++I)
    Operands += (I ? "," : "") + describeOperand(T, Desc, I);
  for (unsigned Role = 0; Role < RoleCount; ++Role) {
    int Index = AMDGPU::getNamedOperandIdx(Opcode, static_cast<AMDGPU::OpName>(Role));
    if (Index >= 0)
      Roles += (Roles.size() > 1 ? ",[" : "[") + std::to_string(Role) + "," +
               std::to_string(Index) + "]";
  }
  fprintf(File,
          "{\"t\":\"instruction\",\"id\":%u,\"name\":%s,\"defs\":%u,\"flags\":%llu,"
          "\"ts_flags\":%llu,\"implicit_defs\":%s,\"implicit_uses\":%s,\"operands\":%s],"
          "\"roles\":%s]}\n",
          Opcode, quoted(T.Instructions->getName(Opcode)).c_str(), Desc.getNumDefs(),
          (unsigned long long)Desc.getFlags(), (unsigned long long)Desc.TSFlags,
          list(Desc.implicit_defs(), Register).c_str(),
          list(Desc.implicit_uses(), Register).c_str(), Operands.c_str(), Roles.c_str());
}

} // namespace

extern "C" {

const char *isaprobe_version() { return LLVM_VERSION_STRING; }

// Opens a processor with extra features; null if LLVM does not know the processor.
Target_ *isaprobe_open(const char *Processor, const char *Features) {
  initialize();
  Triple TheTriple("amdgcn-amd-amdhsa");
  std::string Error;
  const Target *Found = TargetRegistry::lookupTarget(TheTriple, Error);
  if (!Found) {
    fprintf(stderr, "%s\n", Error.c_str());
    return nullptr;
  }
  auto T = std::make_unique<Target_>();
  T->Registers.reset(Found->createMCRegInfo(TheTriple));
  T->AsmInfo.reset(Found->createMCAsmInfo(*T->Registers, TheTriple, T->Options));
  T->Subtarget.reset(Found->createMCSubtargetInfo(TheTriple, Processor, Features));
  if (!T->Subtarget || !T->Subtarget->isCPUStringValid(Processor))
    return nullptr;
  T->Instructions.reset(Found->createMCInstrInfo());
  T->Context = std::make_unique<MCContext>(TheTriple, T->AsmInfo.get(), T->Registers.get(),
                                           T->Subtarget.get());
  T->Disassembler.reset(Found->createMCDisassembler(*T->Subtarget, *T->Context));
  T->Printer.reset(
      Found->createMCInstPrinter(TheTriple, 0, *T->AsmInfo, *T->Instructions, *T->Registers));
  T->Emitter.reset(Found->createMCCodeEmitter(*T->Instructions, *T->Context));
  return T.release();
}

// Decodes each window.  `Kinds` and `Values` ([count][max operands]) may be null.
void isaprobe_decode(Target_ *T, const uint8_t *Windows, long Count, int Stride, int MaxOperands,
                     uint16_t *Opcodes, uint8_t *Sizes, uint8_t *Statuses, uint8_t *OperandCounts,
                     uint8_t *Kinds, int64_t *Values) {
  for (long I = 0; I < Count; ++I) {
    MCInst Inst;
    uint64_t Size = 0;
    Statuses[I] = decode(T, Inst, Size, ArrayRef<uint8_t>(Windows + I * Stride, Stride));
    Opcodes[I] = Inst.getOpcode();
    Sizes[I] = static_cast<uint8_t>(Size);
    OperandCounts[I] = Inst.getNumOperands();
    if (!Kinds)
      continue;
    for (int J = 0; J < MaxOperands && J < (int)Inst.getNumOperands(); ++J)
      readOperand(Inst.getOperand(J), Kinds + I * MaxOperands + J, Values + I * MaxOperands + J);
  }
}

// Prints each window as `llvm-objdump -d` would, one line each ("" if it does not decode, "?" if
// the printer dies).  Returns the length, or minus the capacity needed.
long isaprobe_print(Target_ *T, const uint8_t *Windows, long Count, int Stride, char *Out,
                    long Capacity) {
  std::string All;
  for (long I = 0; I < Count; ++I) {
    MCInst Inst;
    uint64_t Size = 0;
    std::string Text;
    raw_string_ostream Stream(Text);
    uint8_t Status = decode(T, Inst, Size, ArrayRef<uint8_t>(Windows + I * Stride, Stride));
    if (Status == MCDisassembler::Success || Status == MCDisassembler::SoftFail)
      if (!guarded([&] { T->Printer->printInst(&Inst, 0, "", *T->Subtarget, Stream); }))
        Text = "?";
    for (char &C : Text)
      if (C == '\n')
        C = ' ';
    All += Text + '\n';
  }
  if ((long)All.size() > Capacity)
    return -(long)All.size();
  memcpy(Out, All.data(), All.size());
  return (long)All.size();
}

// Decodes each window and encodes the result again.  `EncodedSizes` is 0 where it does not decode
// or the encoder dies.  `Out` is [count][Stride].
void isaprobe_reencode(Target_ *T, const uint8_t *Windows, long Count, int Stride,
                       uint8_t *EncodedSizes, uint8_t *Out) {
  for (long I = 0; I < Count; ++I) {
    MCInst Inst;
    uint64_t Size = 0;
    EncodedSizes[I] = 0;
    uint8_t Status = decode(T, Inst, Size, ArrayRef<uint8_t>(Windows + I * Stride, Stride));
    if (Status != MCDisassembler::Success && Status != MCDisassembler::SoftFail)
      continue;
    SmallVector<char, 32> Bytes;
    SmallVector<MCFixup, 4> Fixups;
    if (!guarded([&] { T->Emitter->encodeInstruction(Inst, Bytes, Fixups, *T->Subtarget); }))
      continue;
    if ((int)Bytes.size() > Stride)
      continue;
    memcpy(Out + I * Stride, Bytes.data(), Bytes.size());
    EncodedSizes[I] = static_cast<uint8_t>(Bytes.size());
  }
}

// Writes registers, register classes and descriptions of real (not pseudo) instructions as JSON
// lines.
int isaprobe_describe(Target_ *T, const char *Path, unsigned RoleCount) {
  FILE *File = fopen(Path, "w");
  if (!File)
    return -1;
  describeRegisters(*T->Registers, File);
  for (unsigned Opcode = 0; Opcode < T->Instructions->getNumOpcodes(); ++Opcode)
    if (!T->Instructions->get(Opcode).isPseudo())
      describeInstruction(*T, Opcode, RoleCount, File);
  return fclose(File);
}

} // extern "C"
