package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

// answers are what the servers of evil.example say, by path. HOST in the text of
// an answer, and of the CLI configuration, is where they are.
type answers map[string]part

// The paths of the registry of evil.example, with one provider and one module.
const (
	pathVersions  = "/p/a/b/versions"
	pathDownload  = "/p/a/b/1.0.0/download/linux/amd64"
	pathList      = "/list"
	pathSignature = "/signature"
	pathModules   = "/m/a/b/c/versions"
	pathLocation  = "/m/a/b/c/1.0.0/download"
	pathPackage   = "/package"
)

// usual are answers as honest registries give them, but for a signature.
var usual = answers{
	pathVersions:  text(`{"versions":[{"version":"1.0.0","protocols":["5.0"],"platforms":[{"os":"linux","arch":"amd64"}]}]}`),
	pathDownload:  announced(`{"ascii_armor":""}`),
	pathList:      text(listed),
	pathSignature: text("none"),
	pathModules:   text(`{"modules":[{"versions":[{"version":"1.0.0"}]}]}`),
	pathLocation:  text(`{"location":"` + pathPackage + `?archive=zip"}`),
}

const (
	noDigest = "0000000000000000000000000000000000000000000000000000000000000000"
	listed   = noDigest + "  terraform-provider-b_1.0.0_linux_amd64.zip\n"
)

// announced is what a registry says of the provider's package, with its keys.
func announced(keys ...any) part {
	head := `{"protocols":["5.0"],"os":"linux","arch":"amd64","filename":"terraform-provider-b_1.0.0_linux_amd64.zip",` +
		`"download_url":"/zip","shasum":"` + noDigest + `","shasums_url":"` + pathList + `","shasums_signature_url":"` + pathSignature + `",` +
		`"signing_keys":{"gpg_public_keys":[`
	return text(append(append([]any{head}, keys...), `]}}`)...)
}

// serveHostile starts the servers of evil.example on loopback. It returns the
// CLI configuration that leads there, the certificate of the servers, and their HOST.
func serveHostile(t *testing.T, h hostile) (rc, certificate []byte, at string) {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := h.answers[r.URL.Path]
		if body == nil {
			body = usual[r.URL.Path]
		}
		if body == nil {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", mediaType(r.URL.Path))
		answer := body()
		if len(answer) < 1000 { // a location
			answer = bytes.ReplaceAll(answer, []byte("HOST"), []byte(r.Host))
		}
		w.Write(answer)
	}))
	t.Cleanup(server.Close)
	config := "host \"evil.example\" {\n  services = {\n    \"providers.v1\" = \"https://HOST/p/\"\n    \"modules.v1\" = \"https://HOST/m/\"\n  }\n}\n" + h.rc
	at = server.Listener.Addr().String()
	rc = []byte(strings.ReplaceAll(config, "HOST", at))
	return rc, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), at
}

func mediaType(path string) string {
	switch {
	case strings.HasSuffix(path, "/info/refs"):
		return "application/x-git-upload-pack-advertisement"
	case strings.HasSuffix(path, "/git-upload-pack"):
		return "application/x-git-upload-pack-result"
	case strings.HasSuffix(path, "/manifests/1.0.0"):
		return "application/vnd.oci.image.index.v1+json"
	case strings.Contains(filepath.Base(path), "package"):
		return "application/octet-stream"
	}
	return "application/json"
}

// hostileAnswers are measured as upgrades of a root module that requires a
// provider, or calls a module, of evil.example.
func hostileAnswers() []hostile {
	return []hostile{
		// Archives.
		module("module zip of 60,000 entries that share a member", sharedZip(60_000), "entries that share their data", true),
		module("module zip of 200,000 empty files", emptyZip(200_000), "more than 20000 configuration files", false),
		module("module zip of 20,000 empty files", emptyZip(20_000), noLockFile, false),
		module("module zip with a file of 1 GiB", zipOf("main.tf", 1<<30), "it is larger than 16 MiB", false),
		module("module zip of 20 files of 300,000 pieces", heavyZip(20, text("locals {\n a=a", repeat("+a", parsed/2), "\n}\n")), "more than 500000 words, lines and signs together", true),
		module("module zip of 100 files with errors alone", heavyZip(100, repeat("a b\n", parsed/4/50)), "invalid block definition", false),
		module("module zip of 32 MiB of strings", heavyZip(2, text("locals {\n a=\"", repeat("x", largest-128), "\"\n}\n")), noLockFile, false),
		module("module tar.gz that unpacks to 2 GiB", gzipBomb(2<<30), "it unpacks to more than", false),
		module("module tar.gz of 640 MiB of text", gzipText(5<<27), "it unpacks to more than", false),
		module("module tar.gz of 300,000 empty entries", emptyTar(300_000), "more than", false),
		module("module tar.gz of 100 sparse files of 16 MiB", sparseTar(100), "it unpacks to more than", false),
		module("module tar.bz2 that unpacks to 2 GiB", bzip2Bomb(2<<30), "it unpacks to more than", false),
		// Registries of providers.
		registry("list of 3 million versions of a provider", pathVersions, text(`{"versions":[{}`, repeat(",{}", 8<<20/3-100), "]}"), tooManyParts, true),
		registry("list of as many versions of a provider as fit", pathVersions, text(`{"versions":[{"version":"1.0.0"}`, numbered(`,{"version":"1.%d.0"}`, 400_000/3-10), "]}"), "1.133322.0 for linux_amd64", false),
		registry("list of versions with 3 million platforms", pathVersions, text(`{"versions":[{"version":"1.0.0","platforms":[{}`, repeat(",{}", 8<<20/3-100), "]}]}"), tooManyParts, false),
		registry("list of versions with as many platforms as fit", pathVersions, text(`{"versions":[{"version":"1.0.0","platforms":[{}`, repeat(",{}", 200_000-100), "]}]}"), notSigned, false),
		registry("list of versions of 8 MiB of brackets", pathVersions, repeat("[", 8<<20), tooManyParts, false),
		registry("list of versions with a version of 8 MiB", pathVersions, text(`{"versions":[{"version":"1.`, repeat("9", 8<<20-200), `"}]}`), "no release at all is listed", false),
		registry("description of a package with a million keys", pathDownload, announced(`{}`, repeat(",{}", 4<<20/3-400)), tooManyParts, false),
		expired("list signed by a key that is announced 5,000 times", 5_000, 0, "more than 50 signing keys", true),
		expired("list signed by a key that is announced 50 times", 50, 0, "downloading", false),
		registry("signing key of long numbers", pathDownload, announced(part(slowKey)), "takes too long to verify with", true),
		registry("checksum list of 60,000 lines", pathList, text(listed, repeat("0 0\n", 1<<16-50)), notSigned, false),
		expired("list with 200 signatures of others", 50, 200, "unknown issuer", false),
		// Registries of modules.
		moduleRegistry("list of 5 million versions of a module", pathModules, text(`{"modules":[{"versions":[{}`, repeat(",{}", 16<<20/3-100), "]}]}"), tooManyParts, true),
		moduleRegistry("list of as many versions of a module as fit", pathModules, text(`{"modules":[{"versions":[{"version":"1.0.0"}`, numbered(`,{"version":"1.%d.0"}`, 400_000/3-10), "]}]}"), "does not have its version 1.133322.0", false),
		moduleRegistry("location of a module of 32 MiB", pathLocation, text(`{"location":"`, repeat("x", 32<<20-100), `"}`), "longer than 1048576 bytes", false),
	}
}

const (
	tooManyParts = "more than 400000 lists, objects and values"
	notSigned    = "is not signed as the registry announces"
	noLockFile   = "1 root module without a lock file"
)

// module is an archive of a module.
func module(name string, archive part, says string, worst bool) hostile {
	kind := "tar.gz"
	switch {
	case strings.Contains(name, "zip"):
		kind = "zip"
	case strings.Contains(name, "bz2"):
		kind = "tar.bz2"
	}
	at := pathPackage + "." + kind
	return hostile{name: name, says: says, worst: worst, args: []string{"upgrade", "--create", "--tool=opentofu", "."}, files: callsModule,
		answers: answers{at: archive, pathLocation: text(`{"location":"` + at + `"}`)}}
}

func registry(name, path string, answer part, says string, worst bool) hostile {
	return hostile{name: name, says: says, worst: worst, args: []string{"upgrade", "--create", "--platform=linux_amd64", "."}, files: requiresProvider,
		answers: answers{path: answer}}
}

func moduleRegistry(name, path string, answer part, says string, worst bool) hostile {
	return hostile{name: name, says: says, worst: worst, args: []string{"upgrade", "--create", "--tool=opentofu", "."}, files: callsModule,
		answers: answers{path: answer}}
}

var (
	callsModule      = tf(text("module \"m\" {\n source = \"evil.example/a/b/c\"\n}\n"))
	requiresProvider = tf(text("terraform {\n required_providers {\n  b = {\n   source = \"evil.example/a/b\"\n  }\n }\n}\n"))
)

// sharedZip has entries that share one member of a megabyte.
func sharedZip(n int) part {
	return func() []byte {
		one := zipOf("0.tf", 1<<20)()
		table := bytes.LastIndex(one, []byte("PK\x01\x02"))
		end := bytes.LastIndex(one, []byte("PK\x05\x06"))
		all := append(one[:table:table], bytes.Repeat(one[table:end], n)...)
		le := func(at int, v uint32, size int) {
			for i := range size {
				all[at+i] = byte(v >> (8 * i))
			}
		}
		at, size := len(all), len(all)-table
		all = append(all, one[end:]...)
		le(at+8, uint32(n), 2)
		le(at+10, uint32(n), 2)
		le(at+12, uint32(size), 4)
		return all
	}
}

func zipped(write func(z *zip.Writer)) part {
	return func() []byte {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		write(z)
		if err := z.Close(); err != nil {
			panic(err)
		}
		return b.Bytes()
	}
}

// zipOf has one file of zeros.
func zipOf(name string, size int) part {
	return zipped(func(z *zip.Writer) {
		w, err := z.Create(name)
		if err != nil {
			panic(err)
		}
		zeros := make([]byte, 1<<20)
		for range size >> 20 {
			w.Write(zeros)
		}
	})
}

func emptyZip(n int) part {
	return zipped(func(z *zip.Writer) {
		for i := range n {
			z.CreateHeader(&zip.FileHeader{Name: fmt.Sprintf("%d.tf", i)})
		}
	})
}

// heavyZip has a text in each of n files.
func heavyZip(n int, text part) part {
	return zipped(func(z *zip.Writer) {
		content := text()
		for i := range n {
			w, err := z.Create(fmt.Sprintf("%d.tf", i))
			if err != nil {
				panic(err)
			}
			w.Write(content)
		}
	})
}

func gzipped(content []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	w.Write(content)
	w.Close()
	return b.Bytes()
}

// tarHeader is one of a tar archive.
func tarHeader(h tar.Header) []byte {
	var b bytes.Buffer
	if err := tar.NewWriter(&b).WriteHeader(&h); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func gzipBomb(size int64) part {
	return func() []byte {
		head := gzipped(tarHeader(tar.Header{Name: "x", Mode: 0o644, Size: size}))
		return append(head, bytes.Repeat(gzipped(make([]byte, 16<<20)), int(size>>24))...)
	}
}

// gzipText is like gzipBomb, of what takes the most time for its size: letters
// that repeat nothing.
func gzipText(size int64) part {
	return func() []byte {
		head := gzipped(tarHeader(tar.Header{Name: "x", Mode: 0o644, Size: size}))
		letters, state := make([]byte, 16<<20), uint32(1)
		for i := range letters {
			state = state*1664525 + 1013904223
			letters[i] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789=\n"[state>>26]
		}
		return append(head, bytes.Repeat(gzipped(letters), int(size>>24))...)
	}
}

func emptyTar(n int) part {
	return func() []byte {
		return append(gzipped(nil), bytes.Repeat(gzipped(bytes.Repeat(tarHeader(tar.Header{Name: "x.tf", Mode: 0o644}), 1000)), n/1000)...)
	}
}

// sparseTar has files in the old format of GNU that are all hole.
func sparseTar(n int) part {
	return func() []byte {
		h := tarHeader(tar.Header{Name: "x.tf", Mode: 0o644, Format: tar.FormatGNU})
		h[156] = 'S'
		copy(h[386:], fmt.Sprintf("%011o\x00%011o\x00", 16<<20, 0))
		copy(h[483:], fmt.Sprintf("%011o\x00", 16<<20))
		copy(h[148:], "        ")
		sum := 0
		for _, c := range h {
			sum += int(c)
		}
		copy(h[148:], fmt.Sprintf("%06o\x00 ", sum))
		return gzipped(bytes.Repeat(h, n))
	}
}

// What the standard library reads and does not write: the header of a tar archive
// with a file of 2 GiB, and 45,000,000 zeros.
const (
	bzip2Head  = "QlpoOTFBWSZTWR6BTGwAACDbgMmAQAB1gAAA4AAeQAgAIABUUwmmgNMQSjUTahmoPUVgQ2e84jdRDOD8IZOMSjTlpU82vfZz3yqiU+LuSKcKEgPQKY2A"
	bzip2Zeros = "QlpoOTFBWSZTWckBtsgBWKtAIMAAEAAACCAAMMwFKaZSSFJsVJIUni7kinChIZIDbZA="
)

func bzip2Bomb(size int64) part {
	return func() []byte {
		head, err := base64.StdEncoding.DecodeString(bzip2Head)
		zeros, zerosErr := base64.StdEncoding.DecodeString(bzip2Zeros)
		if err != nil || zerosErr != nil {
			panic(fmt.Sprint(err, zerosErr))
		}
		return append(head, bytes.Repeat(zeros, int(size/45_000_000))...)
	}
}
