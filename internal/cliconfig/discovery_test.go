package cliconfig

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/sandbox/trusted"
	"github.com/relock-dev/relock/internal/transport"
)

// TestMain makes SSL_CERT_FILE name the certificate of httptest: discovery
// speaks https only.
func TestMain(m *testing.M) { os.Exit(trusted.Main(m)) }

// serve returns a host with a discovery endpoint.
func serve(t *testing.T, handler http.HandlerFunc) svchost.Hostname {
	t.Helper()
	trusted.Needed(t)
	s := httptest.NewTLSServer(handler)
	t.Cleanup(s.Close)
	return svchost.Hostname(s.Listener.Addr().String())
}

// discover returns a Discovery that may talk to the hosts.
func discover(c *Config, hosts ...svchost.Hostname) *Discovery {
	return discoverBeside(nil, c, hosts...)
}

// discoverBeside returns one that shares what hosts have said.
func discoverBeside(shared *Documents, c *Config, hosts ...svchost.Hostname) *Discovery {
	client := transport.New(transport.Options{Retries: -1})
	for _, h := range hosts {
		client.Admit(h.String())
	}
	return NewDiscovery(c, client, shared)
}

func document(contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/.well-known/terraform.json" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", contentType)
		io.WriteString(w, body)
	}
}

func TestServiceFromDocument(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, value, want string }{
		{"relative", "/v1/providers/", "https://HOST/v1/providers/"},
		{"relative_to_the_document", "providers/", "https://HOST/.well-known/providers/"},
		{"absolute", "https://registry.example/v1/#x", "https://registry.example/v1/"},
		{"plain_http", "http://registry.example/v1/", "http://registry.example/v1/"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			host := serve(t, document("application/json; charset=utf-8", fmt.Sprintf(`{"providers.v1": %q}`, tt.value)))
			u, err := discover(&Config{}, host).Service(t.Context(), host, "providers.v1")
			if err != nil {
				t.Fatal(err)
			}
			if want := strings.Replace(tt.want, "HOST", host.String(), 1); u.String() != want {
				t.Errorf("Service = %s, want %s", u, want)
			}
		})
	}
}

func TestServiceFollowsRedirects(t *testing.T) {
	t.Parallel()
	target := serve(t, document("application/json", `{"providers.v1": "/v1/"}`))
	host := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://"+target.String()+r.URL.Path, http.StatusFound)
	})
	u, err := discover(&Config{}, host, target).Service(t.Context(), host, "providers.v1")
	if err != nil || u.String() != "https://"+target.String()+"/v1/" {
		t.Errorf("Service = %v, %v; want relative to the final URL at %s", u, err, target)
	}

	loop := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) })
	d := discover(&Config{}, loop)
	if _, err := d.Service(t.Context(), loop, "providers.v1"); !problem.Coded(err, problem.CodeUnreachable) || d.transport.Stats().Requests != 4 {
		t.Errorf("Service in a redirect loop = %v after %d requests, want an error after 4", err, d.transport.Stats().Requests)
	}
}

func TestServiceFailures(t *testing.T) {
	t.Parallel()
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	const json = "application/json"
	tests := []struct {
		name    string
		handler http.HandlerFunc
		code    problem.Code
		want    string
	}{
		{"no_document", status(404), problem.CodeNoService, "host HOST does not offer a Terraform provider registry"},
		{"no_service", document(json, `{"login.v1": {}}`), problem.CodeNoService, "does not offer a Terraform provider registry"},
		{"other_version", document(json, `{"providers.v9": "/v9/"}`), problem.CodeNoService, "offers a Terraform provider registry of another version than providers.v1"},
		{"server_error", status(503), problem.CodeUnreachable, "503 Service Unavailable"},
		{"unauthorized", status(401), problem.CodeUnauthorized, "host HOST requires authentication credentials"},
		{"other_status", status(410), problem.CodeBadAnswer, "410 Gone"},
		{"content_type", document("text/html", `{"providers.v1": "/v1/"}`), problem.CodeBadAnswer, "content type"},
		{"not_json", document(json, `<html>`), problem.CodeBadAnswer, "not valid"},
		{"service_is_object", document(json, `{"providers.v1": {}}`), problem.CodeBadAnswer, "not a URL"},
		{"service_is_no_url", document(json, `{"providers.v1": "http://[s3cret"}`), problem.CodeBadAnswer, "not a URL"},
		{"service_of_other_scheme", document(json, `{"providers.v1": "file:///x"}`), problem.CodeBadAnswer, "must use https or http"},
		{"service_with_password", document(json, `{"providers.v1": "https://u:s3cret@x/"}`), problem.CodeBadAnswer, "must not hold credentials"},
		{"too_long", document(json, `{"x": "`+strings.Repeat("x", 1<<20)+`"}`), problem.CodeBadAnswer, "longer than"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			host := serve(t, tt.handler)
			_, err := discover(&Config{}, host).Service(t.Context(), host, "providers.v1")
			e, ok := errors.AsType[*problem.Error](err)
			if !ok || e.Problem.Code != tt.code || e.Problem.Host != host {
				t.Fatalf("Service: %#v, want code %q of host %s", err, tt.code, host)
			}
			want := strings.Replace(tt.want, "HOST", host.String(), 1)
			if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("Service: %v, want %q", err, want)
			}
		})
	}
}

func TestHostBlockReplacesDiscovery(t *testing.T) {
	t.Parallel()
	c, diags := Load(home(t, map[string]string{".terraformrc": `
host "a.example" {
  services = {
    "providers.v1" = "http://127.0.0.1:1/p/"
  }
}
host "relative.example" {
  services = {
    "providers.v1" = "/v1/"
  }
}
`}), provider.Terraform)
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	d := discover(c)
	for host, want := range map[svchost.Hostname]string{
		"a.example": "http://127.0.0.1:1/p/", "relative.example": "https://relative.example/v1/",
	} {
		if u, err := d.Service(t.Context(), host, "providers.v1"); err != nil || u.String() != want {
			t.Errorf("Service(%s) = %v, %v; want %s", host, u, err, want)
		}
	}
	if _, err := d.Service(t.Context(), "a.example", "modules.v1"); !problem.Coded(err, problem.CodeNoService) {
		t.Errorf("service that the block does not name: %v, want code no-service", err)
	}
	if n := d.transport.Stats().Requests; n != 0 {
		t.Errorf("%d requests, want none", n)
	}
}

func TestDiscoverySendsToken(t *testing.T) {
	t.Parallel()
	host := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer t0ken" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		document("application/json", `{"providers.v1": "/v1/"}`)(w, r)
	})
	c := &Config{tokens: map[svchost.Hostname]string{host: "t0ken"}}
	if _, err := discover(c, host).Service(t.Context(), host, "providers.v1"); err != nil {
		t.Error(err)
	}
	c = &Config{tokens: map[svchost.Hostname]string{host: "stale"}}
	_, err := discover(c, host).Service(t.Context(), host, "providers.v1")
	if !problem.Coded(err, problem.CodeUnauthorized) || !strings.Contains(err.Error(), "rejected") {
		t.Errorf("Service with a refused token: %v, want that it was rejected", err)
	}
}

func TestEachHostIsAskedOnce(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	host := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		document("application/json", `{"providers.v1": "/v1/", "modules.v1": "/m/"}`)(w, r)
	})
	d := discover(&Config{}, host)
	var group sync.WaitGroup
	for _, service := range []string{"providers.v1", "modules.v1", "providers.v1", "other.v1"} {
		group.Go(func() {
			if _, err := d.Service(t.Context(), host, service); (err != nil) != (service == "other.v1") {
				t.Errorf("Service(%s): %v", service, err)
			}
		})
	}
	group.Wait()
	if asked.Load() != 1 {
		t.Errorf("%d requests, want 1", asked.Load())
	}
}

func TestCancellationIsNotRemembered(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	host := serve(t, func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
			document("application/json", `{"providers.v1": "/v1/"}`)(w, r)
		case <-r.Context().Done():
		}
	})
	d := discover(&Config{}, host)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := d.Service(ctx, host, "providers.v1"); !problem.Coded(err, problem.CodeCancelled) {
		t.Errorf("Service with an ended context: %v, want code cancelled", err)
	}
	close(release)
	if _, err := d.Service(t.Context(), host, "providers.v1"); err != nil {
		t.Errorf("Service afterwards: %v", err)
	}
}

// Those who share what hosts say ask a host once, where they have the same token for
// it: the second one waits for the answer to the first.
func TestHostIsAskedOnceForAllWhoShare(t *testing.T) {
	t.Parallel()
	asking, release := make(chan struct{}, 9), make(chan struct{})
	host := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asking <- struct{}{}
		<-release
		document("application/json", `{"providers.v1": "/v1/", "modules.v1": "/m/"}`)(w, r)
	})
	shared := NewDocuments()
	var group sync.WaitGroup
	ask := func(service string, c *Config) {
		group.Go(func() {
			if _, err := discoverBeside(shared, c, host).Service(t.Context(), host, service); err != nil {
				t.Errorf("Service(%s): %v", service, err)
			}
		})
	}
	ask("modules.v1", &Config{})
	<-asking
	ask("providers.v1", &Config{})
	ask("providers.v1", &Config{tokens: map[svchost.Hostname]string{host: "t0ken"}})
	<-asking // of the other token
	close(release)
	group.Wait()
	if more := len(asking); more > 0 {
		t.Errorf("%d requests more than one for each token", more)
	}
}

// A failure is no answer: whoever met it does not ask again, and whoever comes next
// does so once.
func TestFailureIsNotShared(t *testing.T) {
	t.Parallel()
	for name, failing := range map[string]http.HandlerFunc{
		"status":  func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
		"lying":   document("application/json", `{"providers.v1": `),
		"refused": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int64
			host := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if asked.Add(1) == 1 {
					failing(w, r)
					return
				}
				document("application/json", `{"providers.v1": "/v1/"}`)(w, r)
			})
			shared := NewDocuments()
			first, second := discoverBeside(shared, &Config{}, host), discoverBeside(shared, &Config{}, host)
			for _, d := range []*Discovery{first, first} {
				if _, err := d.Service(t.Context(), host, "providers.v1"); err == nil || asked.Load() != 1 {
					t.Errorf("Service = %v after %d requests, want an error of one", err, asked.Load())
				}
			}
			for _, d := range []*Discovery{second, second, discoverBeside(shared, &Config{}, host)} {
				if _, err := d.Service(t.Context(), host, "providers.v1"); err != nil || asked.Load() != 2 {
					t.Errorf("Service for the next one = %v after %d requests, want none after 2", err, asked.Load())
				}
			}
		})
	}
}
