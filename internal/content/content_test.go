package content

import (
	"archive/zip"
	"bytes"
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"encoding/binary"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/provider"
)

func platform(t *testing.T, text string) provider.Platform {
	t.Helper()
	p, err := provider.ParsePlatform(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// written are values one after the other, as a header has them.
func written(order binary.ByteOrder, values ...any) string {
	var b bytes.Buffer
	for _, v := range values {
		if err := binary.Write(&b, order, v); err != nil {
			panic(err)
		}
	}
	return b.String()
}

func elfProgram(class elf.Class, data elf.Data, abi elf.OSABI, machine elf.Machine) string {
	h := elf.Header64{Machine: uint16(machine)}
	copy(h.Ident[:], elf.ELFMAG)
	h.Ident[elf.EI_CLASS], h.Ident[elf.EI_DATA], h.Ident[elf.EI_OSABI] = byte(class), byte(data), byte(abi)
	if data == elf.ELFDATA2MSB {
		return written(binary.BigEndian, h)
	}
	return written(binary.LittleEndian, h)
}

func peProgram(machine uint16) string {
	dos := make([]byte, 0x80)
	copy(dos, "MZ")
	dos[peAt] = 0x80
	return string(dos) + "PE\x00\x00" + written(binary.LittleEndian, pe.FileHeader{Machine: machine}, [64]byte{})
}

func machProgram(cpu macho.Cpu) string {
	return written(binary.LittleEndian, macho.FileHeader{Magic: macho.Magic64, Cpu: cpu}, uint32(0))
}

func fatProgram(cpus ...macho.Cpu) string {
	text := written(binary.BigEndian, macho.MagicFat, uint32(len(cpus)))
	for _, cpu := range cpus {
		text += written(binary.BigEndian, macho.FatArchHeader{Cpu: cpu})
	}
	return text
}

var linuxProgram = elfProgram(elf.ELFCLASS64, elf.ELFDATA2LSB, elf.ELFOSABI_NONE, elf.EM_X86_64)

func TestProgramIsToldByItsHeader(t *testing.T) {
	t.Parallel()
	const wide, little, none = elf.ELFCLASS64, elf.ELFDATA2LSB, elf.ELFOSABI_NONE
	for name, tt := range map[string]struct {
		head  string
		fits  string // platforms
		other string // platforms that it is not for
	}{
		"linux":          {linuxProgram, "linux_amd64 freebsd_amd64", "linux_arm64 linux_386 darwin_amd64 windows_amd64"},
		"linux of gcc":   {elfProgram(wide, little, elf.ELFOSABI_LINUX, elf.EM_AARCH64), "linux_arm64", "freebsd_arm64 linux_amd64"},
		"freebsd":        {elfProgram(wide, little, elf.ELFOSABI_FREEBSD, elf.EM_X86_64), "freebsd_amd64", "linux_amd64"},
		"arm":            {elfProgram(elf.ELFCLASS32, little, none, elf.EM_ARM), "linux_arm", "linux_arm64"},
		"big endian":     {elfProgram(wide, elf.ELFDATA2MSB, none, elf.EM_PPC64), "linux_ppc64", "linux_ppc64le"},
		"mips":           {elfProgram(wide, little, none, elf.EM_MIPS), "linux_mips64le", "linux_mips64 linux_mipsle"},
		"s390x":          {elfProgram(wide, elf.ELFDATA2MSB, none, elf.EM_S390), "linux_s390x", "linux_amd64"},
		"illumos":        {elfProgram(wide, little, elf.ELFOSABI_SOLARIS, elf.EM_X86_64), "solaris_amd64 illumos_amd64", "linux_amd64"},
		"odd machine":    {elfProgram(wide, little, none, elf.EM_68K), "", "linux_amd64"},
		"cut off":        {linuxProgram[:20], "", "linux_amd64"},
		"windows":        {peProgram(pe.IMAGE_FILE_MACHINE_AMD64), "windows_amd64", "windows_arm64 windows_386 linux_amd64"},
		"dos":            {"MZ" + strings.Repeat("\x00", 100), "", "windows_amd64"},
		"far away":       {"MZ" + strings.Repeat("\xff", 100), "", "windows_amd64"},
		"mac":            {machProgram(macho.CpuArm64), "darwin_arm64", "darwin_amd64 linux_arm64"},
		"universal":      {fatProgram(macho.CpuAmd64, macho.CpuArm64), "darwin_arm64 darwin_amd64", "darwin_386"},
		"many universal": {fatProgram()[:4] + "\xff\xff\xff\xff", "", "darwin_arm64"},
		"java":           {"\xca\xfe\xba\xbe\x00\x00\x00\x34" + strings.Repeat("\x01", 100), "", "darwin_amd64"},
		"script":         {"#!/bin/sh\nexit 0\n", "", "linux_amd64 darwin_arm64 windows_amd64"},
		"empty":          {"", "", "linux_amd64 darwin_arm64"},
	} {
		f := imageOf([]byte(tt.head))
		for p := range strings.FieldsSeq(tt.fits) {
			if !f.fits(platform(t, p)) {
				t.Errorf("%s: %s is not for %s", name, f, p)
			}
		}
		for p := range strings.FieldsSeq(tt.other) {
			if f.fits(platform(t, p)) {
				t.Errorf("%s: %s is for %s", name, f, p)
			}
		}
		if !f.fits(provider.Platform{OS: "plan9", Arch: "amd64"}) {
			t.Errorf("%s: something is said of a system of which nothing is known", name)
		}
	}
}

// TestProgramOfThisMachine reads a real program: that of the test itself.
func TestProgramOfThisMachine(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	checkProgram(t, self, provider.Platform{OS: runtime.GOOS, Arch: runtime.GOARCH})
}

func checkProgram(t *testing.T, name string, p provider.Platform) {
	t.Helper()
	src, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	f := imageOf(src[:min(len(src), maxHeader)])
	if _, known := kindOf[p.OS]; known && (!f.fits(p) || len(f.archs) != 1 || f.archs[0] != p.Arch) {
		t.Errorf("%s is %s, want that it is for %s", name, f, p)
	}
	if f.fits(provider.Platform{OS: "windows", Arch: "arm"}) {
		t.Errorf("%s is for windows_arm", name)
	}
}

// entry is one of an archive.
type entry struct {
	name    string
	mode    fs.FileMode
	content string
}

func archive(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		h.SetMode(e.mode | 0o644)
		part, err := w.CreateHeader(h)
		if err == nil {
			_, err = part.Write([]byte(e.content))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestContentOfAPackage(t *testing.T) {
	t.Parallel()
	own := entry{"terraform-provider-null_v1.0.0_x5", 0o755, linuxProgram}
	for name, tt := range map[string]struct {
		entries []entry
		want    []string // words of each problem
	}{
		"as published":       {[]entry{own, {"LICENSE.txt", 0, "text"}, {"README.md", 0, "text"}}, nil},
		"in directories":     {[]entry{own, {"docs/", fs.ModeDir, ""}, {"docs/terraform-provider-null", 0, "#!"}, {"a..b", 0, ""}}, nil},
		"without a version":  {[]entry{{"terraform-provider-null", 0, linuxProgram}}, nil},
		"program of another": {[]entry{own, {"terraform-provider-nullify", 0, "#!"}}, nil},
		"none":               {[]entry{{"terraform-provider-nullify", 0, linuxProgram}}, []string{"no program terraform-provider-null"}},
		"empty":              {nil, []string{"no program"}},
		"two":                {[]entry{own, {"terraform-provider-null.exe", 0, linuxProgram}}, []string{"2 programs"}},
		"script":             {[]entry{{"terraform-provider-null", 0o755, "#!/bin/sh\n"}}, []string{"no program of a known format, and none for linux_amd64"}},
		"for another system": {[]entry{{"terraform-provider-null", 0o755, machProgram(macho.CpuArm64)}}, []string{"Mach-O on arm64, and none for linux_amd64"}},
		"link":               {[]entry{own, {"libc.so", fs.ModeSymlink, "/lib/libc.so"}}, []string{`"libc.so" is a link`}},
		"linked program":     {[]entry{{"terraform-provider-null", fs.ModeSymlink, "/bin/sh"}}, []string{"is a link", "no program"}},
		"device":             {[]entry{own, {"tty", fs.ModeDevice | fs.ModeCharDevice, ""}}, []string{"is no file"}},
		"above":              {[]entry{own, {"../.bashrc", 0, ""}}, []string{`"../.bashrc" leads out`}},
		"above in the name":  {[]entry{own, {"docs/../../x", 0, ""}}, []string{"leads out"}},
		"absolute":           {[]entry{own, {"/etc/passwd", 0, ""}}, []string{"leads out"}},
		"of windows":         {[]entry{own, {`..\x`, 0, ""}, {`C:\x`, 0, ""}, {`\x`, 0, ""}}, []string{"leads out", "leads out", "leads out"}},
	} {
		src := archive(t, tt.entries...)
		got := Inspect(bytes.NewReader(src), int64(len(src))).Problems("null", platform(t, "linux_amd64"))
		ok := len(got) == len(tt.want)
		for i := 0; ok && i < len(got); i++ {
			ok = strings.Contains(got[i], tt.want[i])
		}
		if !ok {
			t.Errorf("%s: problems %q, want %q", name, got, tt.want)
		}
	}
}

func TestNothingOfAnArchiveIsWithoutBound(t *testing.T) {
	t.Parallel()
	linux := platform(t, "linux_amd64")
	if got := Inspect(strings.NewReader("no zip"), 6).Problems("null", linux); len(got) != 2 || !strings.Contains(got[0], "no zip archive") {
		t.Errorf("problems %q, want that it is no archive", got)
	}
	entries := []entry{{"terraform-provider-null", 0, linuxProgram + strings.Repeat("\x00", 2*maxHeader)}}
	for range 5 * mostPrograms {
		entries = append(entries, entry{"../" + strings.Repeat("x", 5000), 0, ""}, entry{"terraform-provider-null_", 0, ""})
	}
	src := archive(t, entries...)
	if text := strings.Join(Inspect(bytes.NewReader(src), int64(len(src))).Problems("null", linux), "\n"); len(text) > 5000 {
		t.Errorf("problems have %d bytes", len(text))
	}
}
