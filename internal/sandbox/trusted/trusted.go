// Package trusted lets tests speak https with servers of httptest. The sandbox's
// network mirror and OCI registries are such servers, since the tools refuse http
// there. It is part of no program. All packages with many tests use its Main.
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

// garbage is GOGC for tests, which make hundreds of short-lived worlds and
// documents. The default of 100 took up to 40 of 100 seconds of their CPU; more
// than this one saves none.
const garbage = 400

// Main runs tests with SSL_CERT_FILE set to the certificate of httptest, as an
// operator would set it, and returns their status. Unless GOGC is set, garbage is
// collected less often than in programs.
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

// Needed skips a test that needs trust in servers of httptest, if Main cannot
// provide it.
func Needed(t testing.TB) {
	t.Helper()
	if runtime.GOOS == "darwin" || runtime.GOOS == "windows" {
		t.Skip("SSL_CERT_FILE, by which the test server is trusted, is not read on this system: its own verifier is used")
	}
}

// NobodysServer serves over TLS with a certificate that nobody trusts, like a
// proxy that opens TLS. It is for 127.0.0.1 and the names.
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
