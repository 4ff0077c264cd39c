package command

import (
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/relock-dev/relock/internal/sandbox/trusted"
)

// openProxy brings programs to a registry of the sandbox that know it by its own name
// alone: a proxy that opens TLS, as companies have them. It returns what the
// environment of a program says of it. What the registry names, such as packages, is
// asked without it, as by all others.
func openProxy(tb testing.TB, host, registry string) []string {
	tb.Helper()
	target, err := url.Parse(registry)
	if err != nil {
		tb.Fatal(err)
	}
	opened := trusted.NobodysServer(tb, &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}, host)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect || r.Host != host+":443" {
			http.Error(w, "nobody goes elsewhere", http.StatusForbidden)
			return
		}
		connect(tb, w, opened.Listener.Addr().String())
	}))
	tb.Cleanup(proxy.Close)
	ca := filepath.Join(tb.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: opened.Certificate().Raw}), 0o600); err != nil {
		tb.Fatal(err)
	}
	return []string{"HTTPS_PROXY=" + proxy.URL, "SSL_CERT_FILE=" + ca}
}

// connect carries a connection to another address until either end closes it.
func connect(tb testing.TB, w http.ResponseWriter, address string) {
	server, err := net.Dial("tcp", address)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer server.Close()
	w.WriteHeader(http.StatusOK)
	client, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		tb.Error(err)
		return
	}
	carry(client, server, func(client io.Writer, server io.Reader) { io.Copy(client, server) })
}
