package hash

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/dirhash"

	"github.com/relock-dev/relock/internal/inflate"
)

// BenchmarkPackageHash compares one pass over packages with dirhash.HashZip,
// which is what is left of the tools' way without their temporary files. MB/s
// are those of the zip; x is how many times faster per byte than HashZip in the
// same run, and peak-MiB the most memory on the heap, which is bounded whatever
// the size and the number of packages.
func BenchmarkPackageHash(b *testing.B) {
	for _, bench := range []struct {
		size    int   // in MB
		numbers []int // of packages at once
	}{{100, []int{1, 4, 16}}, {400, []int{1, 4}}} {
		b.Run(fmt.Sprintf("%dMB", bench.size), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "package.zip")
			writePackage(b, path, int64(bench.size)*1_000_000)
			var reference float64 // nanoseconds
			b.Run("HashZip", func(b *testing.B) {
				measure(b, path, 1, func() error {
					_, err := dirhash.HashZip(path, dirhash.Hash1)
					return err
				})
				reference = perBatch(b)
			})
			for _, n := range bench.numbers {
				b.Run(fmt.Sprintf("Stream%d", n), func(b *testing.B) {
					measure(b, path, n, func() error {
						_, err := Stream(func() (io.ReadCloser, error) { return os.Open(path) }, "")
						return err
					})
					if reference > 0 {
						b.ReportMetric(float64(n)*reference/perBatch(b), "x")
					}
				})
			}
		})
	}
}

// BenchmarkInflate compares the inflater with compress/flate on what packages
// hold. Each content is packed in parts of 256 kiB. best-MB/s are those of the
// content where each part takes as long as in its fastest round: other work on the
// machine disturbs that least. x says how many times faster than compress/flate
// that is, though with the inflater goes the SHA-256 of what is packed.
func BenchmarkInflate(b *testing.B) {
	for _, c := range []struct {
		name    string
		content []byte
		level   int
	}{
		{"made", program(8 << 20), flate.DefaultCompression},
		{"program", ownProgram(b), flate.BestCompression},
		{"text", ownText(b), flate.BestCompression},
		{"random", random(4 << 20), flate.BestCompression},
	} {
		b.Run(c.name, func(b *testing.B) {
			var streams [][]byte
			for part := range slices.Chunk(c.content, 256<<10) {
				var stream bytes.Buffer
				compress(b, &stream, c.level, part)
				stream.Write(make([]byte, 64)) // in an archive something follows
				streams = append(streams, stream.Bytes())
			}
			var reference time.Duration
			b.Run("flate", func(b *testing.B) {
				reference = bestRound(b, streams, len(c.content), func(r io.Reader) error {
					_, err := io.Copy(io.Discard, flate.NewReader(r))
					return err
				})
			})
			b.Run("own", func(b *testing.B) {
				var inflater inflate.Reader
				var src zipStream
				best := bestRound(b, streams, len(c.content), func(r io.Reader) error {
					src.reset(r)
					return inflater.Inflate(io.Discard, &src)
				})
				if reference > 0 {
					b.ReportMetric(float64(reference)/float64(best), "x")
				}
			})
		})
	}
}

// bestRound inflates the streams again and again, and returns how long all take
// if each takes as long as in its fastest round.
func bestRound(b *testing.B, streams [][]byte, size int, inflate func(io.Reader) error) time.Duration {
	b.SetBytes(int64(size))
	best := make([]time.Duration, len(streams))
	for b.Loop() {
		for i, stream := range streams {
			begin := time.Now()
			if err := inflate(bytes.NewReader(stream)); err != nil {
				b.Fatal(err)
			}
			if took := time.Since(begin); best[i] == 0 || took < best[i] {
				best[i] = took
			}
		}
	}
	var sum time.Duration
	for _, took := range best {
		sum += took
	}
	b.ReportMetric(float64(size)/1e6/sum.Seconds(), "best-MB/s")
	return sum
}

func perBatch(b *testing.B) float64 { return float64(b.Elapsed().Nanoseconds()) / float64(b.N) }

// maxHeap is what hashing may take of the heap in MiB.
const maxHeap = 16

// measure runs f n times at once in each round.
func measure(b *testing.B, path string, n int, f func() error) {
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(n) * info.Size())
	peak := heapPeak()
	for b.Loop() {
		var wg sync.WaitGroup
		for range n {
			wg.Go(func() {
				if err := f(); err != nil {
					b.Error(err)
				}
			})
		}
		wg.Wait()
	}
	mebibytes := float64(peak()) / (1 << 20)
	b.ReportMetric(mebibytes, "peak-MiB")
	if mebibytes >= maxHeap {
		b.Errorf("%.1f MiB on the heap, want less than %d", mebibytes, maxHeap)
	}
}

// heapPeak looks at the heap until the function that it returns is called,
// which returns the most that was in use.
func heapPeak() func() uint64 {
	stop, result := make(chan bool), make(chan uint64)
	go func() {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		var peak uint64
		for {
			metrics.Read(sample)
			peak = max(peak, sample[0].Value.Uint64())
			select {
			case <-tick.C:
			case <-stop:
				result <- peak
				return
			}
		}
	}()
	return func() uint64 { close(stop); return <-result }
}

// writePackage writes a package as release tools make them: a little text, and
// a large program behind it. The program is one part again and again, larger
// than any cache, compressed once.
func writePackage(b *testing.B, path string, size int64) {
	b.Helper()
	part := program(16 << 20)
	var packed, rest bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.DefaultCompression)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := w.Write(part); err != nil {
		b.Fatal(err)
	}
	// Behind a flush a stream can go on with any other.
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	compress(b, &rest, flate.DefaultCompression, nil)

	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	z := zip.NewWriter(f)
	if e, err := z.Create("LICENSE"); err != nil {
		b.Fatal(err)
	} else if _, err := io.WriteString(e, strings.Repeat("Mozilla Public License\n", 700)); err != nil {
		b.Fatal(err)
	}
	parts := int(size)/packed.Len() + 1
	h := &zip.FileHeader{
		Name: "terraform-provider-large_v1.0.0", Method: zip.Deflate, Flags: flagDescriptor,
		CompressedSize64:   uint64(parts*packed.Len() + rest.Len()),
		UncompressedSize64: uint64(parts * len(part)),
	}
	for range parts {
		h.CRC32 = crc32.Update(h.CRC32, crc32.IEEETable, part)
	}
	e, err := z.CreateRaw(h)
	if err != nil {
		b.Fatal(err)
	}
	for range parts {
		if _, err := e.Write(packed.Bytes()); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := e.Write(rest.Bytes()); err != nil {
		b.Fatal(err)
	}
	if err := z.Close(); err != nil {
		b.Fatal(err)
	}
	b.Logf("%d bytes unpack to %d", h.CompressedSize64, h.UncompressedSize64)
}

func compress(t testing.TB, w io.Writer, level int, content []byte) {
	t.Helper()
	f, err := flate.NewWriter(w, level)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// ownProgram returns the program that runs, which is a Go program like those in
// packages.
func ownProgram(b *testing.B) []byte {
	b.Helper()
	path, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	return content
}

// ownText returns the sources and documents of this repository.
func ownText(b *testing.B) []byte {
	b.Helper()
	var content []byte
	repository := os.DirFS("../..")
	err := fs.WalkDir(repository, ".", func(path string, d fs.DirEntry, err error) error {
		if ext := filepath.Ext(path); err != nil || d.IsDir() || ext != ".go" && ext != ".md" {
			return err
		}
		text, err := fs.ReadFile(repository, path)
		content = append(content, text...)
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return content
}

// random returns n bytes that do not compress.
func random(n int) []byte {
	content := make([]byte, n)
	rand.NewChaCha8([32]byte{7}).Read(content)
	return content
}

// program returns n bytes that compress about as a Go program does: code,
// tables, and names, in sections.
func program(n int) []byte {
	rnd := rand.New(rand.NewPCG(3, 4))
	p := make([]byte, 0, n+1<<16)
	for len(p) < n {
		p = appendCode(p, rnd, 50_000)
		p = appendTable(p, rnd, 8_000)
		p = appendNames(p, rnd, 15_000)
	}
	return p[:n]
}

// skewed returns a number below n, small ones more often.
func skewed(rnd *rand.Rand, n int) int {
	return int(math.Pow(rnd.Float64(), 6) * float64(n))
}

// appendCode appends instructions: idioms, which come back with other offsets.
func appendCode(p []byte, rnd *rand.Rand, n int) []byte {
	for end := len(p) + n; len(p) < end; {
		idiom := rand.New(rand.NewPCG(5, uint64(skewed(rnd, 1200))))
		for range 4 + skewed(idiom, 60) {
			p = append(p, 0x48, byte(skewed(idiom, 256)), byte(idiom.IntN(64)*4), byte(8*skewed(idiom, 32)))
		}
		p = append(p, byte(8*skewed(rnd, 32)), 0xe8)
		p = binary.LittleEndian.AppendUint32(p, uint32(skewed(rnd, 1<<16)))
	}
	return p
}

// appendTable appends numbers that grow in small steps, as program counters and
// offsets do.
func appendTable(p []byte, rnd *rand.Rand, n int) []byte {
	at := rnd.Uint32() >> 8
	for end := len(p) + n; len(p) < end; {
		at += uint32(16 * (1 + skewed(rnd, 40)))
		p = binary.LittleEndian.AppendUint32(p, at)
		p = append(p, byte(skewed(rnd, 6)), 0, 0, 0)
	}
	return p
}

func appendNames(p []byte, rnd *rand.Rand, n int) []byte {
	for end := len(p) + n; len(p) < end; {
		for range 2 + rnd.IntN(2) {
			word := rand.New(rand.NewPCG(6, uint64(skewed(rnd, 1000))))
			for range 5 + word.IntN(16) {
				p = append(p, "etaoinsrhldcumpfgwybvk"[skewed(word, 22)])
			}
			p = append(p, "._/*"[rnd.IntN(4)])
		}
		p = append(p, 0)
	}
	return p
}
