// Package trusted lets tests speak https with servers of httptest, as the sandbox's
// network mirror and OCI registries are: the tools take nothing else from these. It
// is part of no program.
package trusted

import (
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
)

// Main runs tests while SSL_CERT_FILE names the certificate of httptest, as an
// operator would name one, and returns their status.
func Main(tests interface{ Run() int }) int {
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
