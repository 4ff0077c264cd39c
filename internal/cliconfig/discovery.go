package cliconfig

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"sync"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/relock-dev/relock/internal/provider"
	"github.com/relock-dev/relock/internal/transport"
)

// maxDiscoveryRedirects is the tools' own limit.
const maxDiscoveryRedirects = 3

// Discovery finds the services of registry hosts, for one tool. Each host is
// asked once in a run; it is safe for concurrent use.
//
// The protocol is that of terraform-svchost's disco package. It is not used
// since it takes no context, cuts off long documents instead of refusing them,
// and writes to the log package's standard logger.
type Discovery struct {
	config    *Config
	transport *transport.Client

	mu    sync.Mutex
	hosts map[svchost.Hostname]*host
}

// host is what is known of one host. Its mutex is held while the host is
// asked, so that whoever comes second waits for the answer to the first.
type host struct {
	mu       sync.Mutex
	known    bool
	base     *url.URL // what service URLs are relative to
	services map[string]any
	err      error
}

// NewDiscovery returns a Discovery that asks with the tokens and believes the
// host blocks of the configuration.
func NewDiscovery(c *Config, t *transport.Client) *Discovery {
	return &Discovery{config: c, transport: t, hosts: map[svchost.Hostname]*host{}}
}

// Service returns the URL of a service such as "providers.v1". Errors are
// *provider.Error: CodeNoService if the host does not offer the service,
// CodeUnauthorized, CodeUnreachable or CodeBadAnswer if it could not be asked.
func (d *Discovery) Service(ctx context.Context, name svchost.Hostname, service string) (*url.URL, error) {
	h := d.host(name)
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.known {
		h.base, h.services, h.err = d.ask(ctx, name)
		h.known = ctx.Err() == nil
	}
	if h.err != nil {
		return nil, h.err
	}
	value, ok := h.services[service]
	if !ok {
		return nil, noService(name, service, h.services)
	}
	u, err := serviceURL(h.base, value)
	if err != nil {
		return nil, badDiscovery(name, fmt.Errorf("service %s: %w", service, err))
	}
	return u, nil
}

func (d *Discovery) host(name svchost.Hostname) *host {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.hosts[name] == nil {
		d.hosts[name] = &host{}
	}
	return d.hosts[name]
}

// ask returns the services of the host block, which replaces discovery wholly,
// or of the discovery document. A host without the document has no services.
func (d *Discovery) ask(ctx context.Context, name svchost.Hostname) (*url.URL, map[string]any, error) {
	at := discoveryURL(name)
	if services, ok := d.config.services[name]; ok {
		return at, services, nil
	}
	token, err := d.config.Token(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	limits := d.config.Limits()
	resp, err := d.transport.Do(ctx, transport.Request{
		URL:          at,
		Header:       http.Header{"Accept": {"application/json"}},
		Token:        token,
		MaxRedirects: maxDiscoveryRedirects,
		Retries:      limits.Retries,
		Timeout:      limits.Timeout,
	})
	if err != nil {
		return nil, nil, withHost(err, name)
	}
	if resp.Status == http.StatusNotFound {
		return resp.URL, nil, nil
	}
	if err := checkStatus(name, resp.Status, token != ""); err != nil {
		return nil, nil, err
	}
	media, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil || media != "application/json" {
		return nil, nil, badDiscovery(name, errors.New("its content type is not application/json"))
	}
	var services map[string]any
	if err := transport.UnmarshalJSON(resp.Body, &services); err != nil {
		return nil, nil, badDiscovery(name, err)
	}
	return resp.URL, services, nil
}

func checkStatus(name svchost.Hostname, status int, hadToken bool) error {
	e := &provider.Error{
		Code:    provider.CodeBadAnswer,
		Host:    name,
		Message: fmt.Sprintf("discovering the services of %s: %d %s", name.ForDisplay(), status, http.StatusText(status)),
	}
	switch {
	case status == http.StatusOK:
		return nil
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return Unauthorized(name, hadToken)
	case status >= 500 || status == http.StatusTooManyRequests:
		e.Code = provider.CodeUnreachable
	}
	return e
}

// Unauthorized is the error of a host that answered 401 or 403.
func Unauthorized(name svchost.Hostname, hadToken bool) *provider.Error {
	message := "host " + name.ForDisplay() + " requires authentication credentials"
	if hadToken {
		message = "host " + name.ForDisplay() + " rejected the given authentication credentials"
	}
	return &provider.Error{Code: provider.CodeUnauthorized, Host: name, Message: message, Hint: CredentialsHint(name)}
}

// serviceURL reads one value of a services map.
func serviceURL(base *url.URL, value any) (*url.URL, error) {
	text, ok := value.(string)
	if !ok {
		return nil, errors.New("not a URL")
	}
	ref, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("not a URL") // the cause would quote it whole
	}
	u := base.ResolveReference(ref)
	switch {
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, errors.New("the URL must use https or http")
	case u.User != nil:
		return nil, errors.New("the URL must not hold credentials")
	}
	u.Fragment = ""
	return u, nil
}

// serviceNames say what the known services are.
var serviceNames = map[string]string{"providers": "provider registry", "modules": "module registry"}

func noService(name svchost.Hostname, service string, offered map[string]any) *provider.Error {
	kind, _, _ := strings.Cut(service, ".")
	what := serviceNames[kind]
	if what == "" {
		what = kind + " service"
	}
	e := &provider.Error{
		Code:    provider.CodeNoService,
		Host:    name,
		Message: fmt.Sprintf("host %s does not offer a Terraform %s", name.ForDisplay(), what),
		Hint:    "check the host in the source address",
	}
	for id := range offered {
		if strings.HasPrefix(id, kind+".") {
			e.Message = fmt.Sprintf("host %s offers a Terraform %s of another version than %s", name.ForDisplay(), what, service)
		}
	}
	return e
}

func badDiscovery(name svchost.Hostname, err error) *provider.Error {
	return &provider.Error{
		Code:    provider.CodeBadAnswer,
		Host:    name,
		Message: "the discovery document of " + name.ForDisplay() + " is not valid",
		Err:     err,
	}
}

// withHost names the host as addresses do, not as the URL's.
func withHost(err error, name svchost.Hostname) error {
	if e, ok := errors.AsType[*provider.Error](err); ok {
		e.Host = name
	}
	return err
}
