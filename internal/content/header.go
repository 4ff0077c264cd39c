package content

import (
	"bytes"
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/relock-dev/relock/internal/provider"
)

// The kindOf of programs. The readers of the standard library want a whole program,
// whose tables are at its end; its header, as they describe it, is enough here.
const (
	closed   = "unreadable"
	elfKind  = "ELF"
	machKind = "Mach-O"
	peKind   = "PE"
)

// maxHeader bounds what is read of a program.
const maxHeader = 64 << 10

// mostArchs bounds the programs in a universal one: there have never been more than
// five architectures.
const mostArchs = 20

// image is what the header of a program says.
type image struct {
	kind  string   // empty if it is none of those known
	archs []string // as Go names them; none if the header's is not known
	os    string   // that the header names; empty if it names none
}

// kindOf are those of the systems that providers are published for. Of others nothing
// is known.
var kindOf = map[string]string{
	"linux": elfKind, "freebsd": elfKind, "openbsd": elfKind, "netbsd": elfKind, "dragonfly": elfKind, "solaris": elfKind, "illumos": elfKind,
	"darwin": machKind, "windows": peKind,
}

// machines are the architectures that headers can name.
var machines = []string{
	"386", "amd64", "arm", "arm64", "ppc64", "ppc64le", "s390x", "riscv64", "loong64", "mips", "mipsle", "mips64", "mips64le",
}

// fits reports whether the program is for a platform. Of a platform that is not known
// here everything is.
func (f image) fits(p provider.Platform) bool {
	kind, known := kindOf[p.OS]
	switch {
	case !known:
		return true
	case f.kind != kind, f.os != "" && f.os != p.OS && f.os+p.OS != "solarisillumos": // these have one ABI
		return false
	}
	return !slices.Contains(machines, p.Arch) || slices.Contains(f.archs, p.Arch)
}

// String says what the program is, behind "it is".
func (f image) String() string {
	switch {
	case f.kind == "":
		return "no program of a known format"
	case f.kind == closed:
		return "not readable"
	}
	text := "a program of the format " + f.kind
	if f.os != "" {
		text += " for " + f.os
	}
	if len(f.archs) > 0 {
		text += " on " + strings.Join(f.archs, " and ")
	}
	return text
}

func imageOf(head []byte) image {
	switch {
	case bytes.HasPrefix(head, []byte(elf.ELFMAG)):
		return elfFormat(head)
	case bytes.HasPrefix(head, []byte("MZ")):
		return peFormat(head)
	}
	return machFormat(head)
}

// elfABIs are the systems that a header can name. Most programs name none.
var elfABIs = map[elf.OSABI]string{
	elf.ELFOSABI_LINUX: "linux", elf.ELFOSABI_FREEBSD: "freebsd", elf.ELFOSABI_NETBSD: "netbsd", elf.ELFOSABI_OPENBSD: "openbsd",
	elf.ELFOSABI_SOLARIS: "solaris",
}

func elfFormat(head []byte) image {
	f := image{kind: elfKind}
	var h elf.Header32 // whose first fields are those of Header64
	if len(head) < binary.Size(h) {
		return f
	}
	ident := head[:elf.EI_NIDENT]
	order, little := binary.ByteOrder(binary.LittleEndian), elf.Data(ident[elf.EI_DATA]) == elf.ELFDATA2LSB
	if !little {
		order = binary.BigEndian
	}
	wide := elf.Class(ident[elf.EI_CLASS]) == elf.ELFCLASS64
	f.os = elfABIs[elf.OSABI(ident[elf.EI_OSABI])]
	if arch := elfArch(elf.Machine(order.Uint16(head[elf.EI_NIDENT+2:])), wide, little); arch != "" {
		f.archs = []string{arch}
	}
	return f
}

func elfArch(machine elf.Machine, wide, little bool) string {
	endian := ""
	if little {
		endian = "le"
	}
	switch machine {
	case elf.EM_386:
		return "386"
	case elf.EM_X86_64:
		return "amd64"
	case elf.EM_ARM:
		return "arm"
	case elf.EM_AARCH64:
		return "arm64"
	case elf.EM_PPC64:
		return "ppc64" + endian
	case elf.EM_S390:
		return "s390x"
	case elf.EM_RISCV:
		return "riscv64"
	case elf.EM_LOONGARCH:
		return "loong64"
	case elf.EM_MIPS:
		if wide {
			return "mips64" + endian
		}
		return "mips" + endian
	}
	return ""
}

var peArchs = map[uint16]string{
	pe.IMAGE_FILE_MACHINE_I386: "386", pe.IMAGE_FILE_MACHINE_AMD64: "amd64",
	pe.IMAGE_FILE_MACHINE_ARMNT: "arm", pe.IMAGE_FILE_MACHINE_ARM64: "arm64",
}

// peAt is where a program for DOS says where that for Windows begins.
const peAt = 0x3c

func peFormat(head []byte) image {
	if len(head) < peAt+4 {
		return image{}
	}
	at := int64(binary.LittleEndian.Uint32(head[peAt:]))
	var h pe.FileHeader
	signature := []byte("PE\x00\x00")
	if at+int64(len(signature)+binary.Size(h)) > int64(len(head)) || !bytes.HasPrefix(head[at:], signature) {
		return image{}
	}
	f := image{kind: peKind}
	if arch := peArchs[binary.LittleEndian.Uint16(head[at+int64(len(signature)):])]; arch != "" {
		f.archs = []string{arch}
	}
	return f
}

var machArchs = map[macho.Cpu]string{macho.Cpu386: "386", macho.CpuAmd64: "amd64", macho.CpuArm: "arm", macho.CpuArm64: "arm64"}

func machFormat(head []byte) image {
	if len(head) < 8 {
		return image{}
	}
	f := image{kind: machKind}
	add := func(cpu uint32) {
		if arch := machArchs[macho.Cpu(cpu)]; arch != "" && !slices.Contains(f.archs, arch) {
			f.archs = append(f.archs, arch)
		}
	}
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		if magic := order.Uint32(head); magic == macho.Magic32 || magic == macho.Magic64 {
			add(order.Uint32(head[4:]))
			return f
		}
	}
	if binary.BigEndian.Uint32(head) != macho.MagicFat {
		return image{}
	}
	// A universal program has a header for each of those in it.
	each := binary.Size(macho.FatArchHeader{})
	for i := range min(int(binary.BigEndian.Uint32(head[4:])), mostArchs) {
		if at := 8 + i*each; at+each <= len(head) {
			add(binary.BigEndian.Uint32(head[at:]))
		}
	}
	return f
}
