// Package trusted lets tests speak https with servers of httptest, as the sandbox's
// network mirror and OCI registries are: the tools take nothing else from these. It
// is part of no program. Its Main is that of all packages whose tests are many.
package trusted

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// garbage is the share of a heap that tests may leave behind before it is collected:
// worlds and documents by the hundred that nobody keeps. The default of 100 took up to
// 40 of 100 seconds of their CPU; more than this one saves none.
const garbage = 400

// Main runs tests while SSL_CERT_FILE names the certificate of httptest, as an
// operator would name one, and returns their status. Where GOGC does not say how
// often garbage is collected, it is less often than in programs.
func Main(tests interface{ Run() int }) int {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbage)
	}
	server := httptest.NewTLSServer(nil)
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	server.Close()
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "ca.pem")
	if err := os.WriteFile(file, cert, 0o600); err != nil {
		panic(err)
	}
	os.Setenv("SSL_CERT_FILE", file)
	return tests.Run()
}

// Needed skips a test for which servers of httptest must be trusted, where Main cannot
// bring that about.
func Needed(t testing.TB) {
	t.Helper()
	if runtime.GOOS == "darwin" || runtime.GOOS == "windows" {
		t.Skip("SSL_CERT_FILE, by which the test server is trusted, is not read on this system: its own verifier is used")
	}
}

// NobodysServer serves over TLS with a certificate that nobody has reason to trust,
// as that of a proxy which opens TLS. It is for 127.0.0.1 and the names.
func NobodysServer(t testing.TB, handler http.Handler, names ...string) *httptest.Server {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: names, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(handler)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}
