package sandbox

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"

	"github.com/relock-dev/relock/internal/provider"
)

// LargeProvider is a provider with packages of a realistic size.
type LargeProvider struct {
	Addr     provider.Addr
	Also     []string // hosts with the same provider
	Versions []string
	// Listed are more versions that the registry lists, without packages.
	Listed    []string
	Platforms []string
	Size      int // approximate size of each zip in bytes
}

// NewLarge makes a world for measurements. Its packages are compressed, unlike
// those of ParseWorld, so a new release of Go may change their hashes.
func NewLarge(providers []LargeProvider) (*World, error) {
	keys, err := newKeyring(nil)
	if err != nil {
		return nil, err
	}
	largest := 0
	for _, p := range providers {
		largest = max(largest, p.Size)
	}
	program, err := newProgram(largest)
	if err != nil {
		return nil, err
	}
	w := newWorld()
	for _, p := range providers {
		text := providerText{Common: commonText{Platforms: p.Platforms}, ExtraVersions: p.Listed}
		for _, v := range p.Versions {
			text.Versions = append(text.Versions, versionText{name: v})
		}
		o, err := text.offer(p.Addr, keys, program.packer(p.Addr, p.Size))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Addr, err)
		}
		if err := w.offer(p.Addr, p.Also, o); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// program is the content of large packages. Its sections are compressed once for
// all packages: after a flush, any other section can follow.
type program []section

type section struct{ content, packed []byte }

// The program is larger than the caches of a processor.
const (
	sections    = 32
	sectionSize = 512 << 10
)

// newProgram makes as many sections of it as a package of that size has.
func newProgram(size int) (program, error) {
	rnd := rand.New(rand.NewPCG(1, 2))
	words := vocabulary(rnd)
	var p program
	for packed := 0; len(p) < sections && packed < size; packed += len(p[len(p)-1].packed) {
		content := make([]byte, 0, sectionSize)
		for len(content) < sectionSize {
			content = append(content, words[skewed(rnd, len(words))]...)
		}
		compressed, err := deflate(content)
		if err != nil {
			return nil, err
		}
		p = append(p, section{content, compressed})
	}
	return p, nil
}

// vocabulary returns the instructions and names that a program repeats. A text of
// them, the first ones more often, compresses to about a third, as programs do.
func vocabulary(rnd *rand.Rand) [][]byte {
	words := make([][]byte, 1<<12)
	for i := range words {
		words[i] = make([]byte, 4+skewed(rnd, 40))
		for j := range words[i] {
			words[i][j] = byte(skewed(rnd, 256))
		}
	}
	return words
}

// skewed returns a number below n, small ones more often.
func skewed(rnd *rand.Rand, n int) int { return int(math.Pow(rnd.Float64(), 6) * float64(n)) }

// deflate compresses up to a flush.
func deflate(content []byte) ([]byte, error) {
	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.DefaultCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(content); err != nil {
		return nil, err
	}
	err = w.Flush()
	return packed.Bytes(), err
}

// endOfStream is an empty last block.
var endOfStream = []byte{0x01, 0x00, 0x00, 0xff, 0xff}

// packer fills packages up to a size. Each begins with its own name, so all
// differ.
func (p program) packer(addr provider.Addr, size int) packer {
	return func(v provider.Version, platform provider.Platform, _ []entry) ([]byte, error) {
		title := fmt.Sprintf("%s %s for %s\n", addr, v, platform)
		begin, err := deflate([]byte(title))
		if err != nil {
			return nil, err
		}
		stream := [][]byte{begin}
		packed, unpacked, crc := len(begin), len(title), crc32.ChecksumIEEE([]byte(title))
		for i := 0; packed < size; i++ {
			s := p[i%len(p)]
			stream = append(stream, s.packed)
			packed, unpacked = packed+len(s.packed), unpacked+len(s.content)
			crc = crc32.Update(crc, crc32.IEEETable, s.content)
		}
		stream = append(stream, endOfStream)
		header := &zip.FileHeader{
			Name: fmt.Sprintf("terraform-provider-%s_v%s", addr.Type, v), Method: zip.Deflate, CRC32: crc,
			CompressedSize64: uint64(packed + len(endOfStream)), UncompressedSize64: uint64(unpacked),
		}
		header.SetMode(0o755)
		return packStream(header, stream)
	}
}

// packStream makes a zip of one file that is compressed already.
func packStream(header *zip.FileHeader, stream [][]byte) ([]byte, error) {
	archive := bytes.NewBuffer(make([]byte, 0, header.CompressedSize64+1<<10))
	w := zip.NewWriter(archive)
	file, err := w.CreateRaw(header)
	if err != nil {
		return nil, fmt.Errorf("packing %s: %w", header.Name, err)
	}
	for _, part := range stream {
		if _, err := file.Write(part); err != nil {
			return nil, fmt.Errorf("packing %s: %w", header.Name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("packing: %w", err)
	}
	return archive.Bytes(), nil
}
