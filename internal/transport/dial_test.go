package transport

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/problem"
)

// written has one address of each network, and of each form in which one of IPv4
// is written in IPv6, at the edges of the networks where others begin there.
var written = map[kind][]string{
	metadata: {
		"169.254.169.254", "169.254.0.0", "169.254.170.2", "168.63.129.16", "100.100.100.200", "192.0.0.192",
		"fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254",
		"::ffff:169.254.169.254", "::ffff:168.63.129.16", "::169.254.169.254",
		"64:ff9b::169.254.169.254", "64:ff9b::100.100.100.200", "64:ff9b::c000:c0",
		"64:ff9b:1::169.254.169.254", "64:ff9b:1:a9fe:a9:fe00::", "64:ff9b:1:a9:fe:a9fe::", "64:ff9b:1:0:a9:fea9:fe00:0",
		"64:ff9b:1:abcd::168.63.129.16",
		"2002:a9fe:a9fe::1", "2002:6464:64c8::",
	},
	linkLocal: {"fe80::1", "fe80::1%lo", "febf::1", "224.0.0.1", "ff02::1", "::ffff:224.0.0.1"},
	loopback: {
		"127.0.0.1", "127.255.255.255", "0.0.0.0", "0.1.2.3", "::1", "::",
		"::ffff:127.0.0.1", "::ffff:0.0.0.0", "::127.0.0.1", "64:ff9b::127.0.0.1", "64:ff9b:1::127.0.0.1", "2002:7f00:1::",
	},
	private: {
		"10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1", "100.127.255.255", "192.0.0.1", "198.19.0.1", "255.255.255.255",
		"fc00::1", "fd12:3456::1", "fec0::1", "::ffff:10.0.0.1", "64:ff9b::192.168.0.1", "64:ff9b:1:a00:1::", "2002:c0a8:101::",
	},
	public: {
		"203.0.113.1", "169.253.255.255", "169.255.0.0", "168.63.129.17", "172.32.0.1", "100.63.255.255", "100.128.0.1", "192.0.1.1",
		"2001:db8::1", "fe00::1", "::ffff:203.0.113.1", "64:ff9b::203.0.113.1", "64:ff9b:1::203.0.113.1", "64:ff9b:1:cb00:71:100::", "2002:cb00:7101::",
	},
}

var namerNames = [namers]string{Operator: "the operator", Base: "the base branch", OwnHead: "a pull request's head", ForkHead: "a fork's head"}

func TestKindOf(t *testing.T) {
	t.Parallel()
	for want, addresses := range written {
		for _, text := range addresses {
			if got := kindOf(netip.MustParseAddr(text)); got != want {
				t.Errorf("kindOf(%s) = %v, want %v", text, got, want)
			}
		}
	}
}

// TestDialTable holds each cell of the table at the place where connections are
// decided about. What the table must say is written out here once more: a slip in
// one of them is no rule.
func TestDialTable(t *testing.T) {
	t.Parallel()
	const server = "registry.test:443"
	want := map[kind][]Namer{
		public:  {Operator, Base, OwnHead, ForkHead},
		private: {Operator, Base, OwnHead}, loopback: {Operator}, linkLocal: nil, metadata: nil,
	}
	for k, namedBy := range want {
		for who := range namers {
			c := New(Options{})
			if who == Operator {
				c.Admit(server)
				c = c.For(ForkHead, nil) // whoever else names it
			} else {
				c.Admit("registry.test:444") // another port is another server
				c = c.For(who, nil)
			}
			allowed := strings.Contains(fmt.Sprint(namedBy), fmt.Sprint(who))
			for _, text := range written[k] {
				err := c.guard.checkAddr(netip.MustParseAddr(text), server, 0)
				if (err == nil) != allowed {
					t.Errorf("connecting to %s, named by %s: %v, want allowed %v", text, namerNames[who], err, allowed)
				}
				if err != nil && (!Refused(err) || !strings.Contains(err.Error(), k.String())) {
					t.Errorf("connecting to %s: %v, want the refusal of %v", text, err, k)
				}
			}
		}
	}
}

func TestForkMayNameWhatTheBaseNames(t *testing.T) {
	t.Parallel()
	c := New(Options{}).For(ForkHead, func(host string) bool { return host == "base.test" })
	for hostport, allowed := range map[string]bool{"base.test:443": true, "BASE.test:8443": true, "other.test:443": false} {
		if err := c.guard.checkAddr(netip.MustParseAddr("10.0.0.1"), hostport, 0); (err == nil) != allowed {
			t.Errorf("connecting to %s in a private network: %v, want allowed %v", hostport, err, allowed)
		}
	}
	if err := c.guard.checkAddr(netip.MustParseAddr("127.0.0.1"), "base.test:443", 0); err == nil {
		t.Error("connecting to base.test on this machine is allowed")
	}
}

// A registry in a private network says that its packages are on another server
// there: whoever may name the one may be led to the other, but not further.
func TestReferralsStayWithinTheirKind(t *testing.T) {
	t.Parallel()
	c := New(Options{}).For(ForkHead, func(host string) bool { return strings.HasPrefix(host, "base") })
	g := c.guard
	for hostport, address := range map[string]string{"base-inside.test:443": "10.0.0.1", "base-outside.test:443": "203.0.113.1", "stranger.test:443": "203.0.113.2"} {
		if err := g.checkAddr(netip.MustParseAddr(address), hostport, 0); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		referrer, address string
		allowed           bool
	}{
		{"https://base-inside.test/v1", "10.0.0.2", true},
		{"https://base-inside.test/v1", "127.0.0.1", false},
		{"https://base-inside.test/v1", "169.254.169.254", false},
		{"https://base-outside.test/v1", "10.0.0.2", false},
		{"https://base-outside.test/v1", "203.0.113.3", true},
		{"https://stranger.test/v1", "10.0.0.2", false},
		{"https://base-unknown.test/v1", "10.0.0.2", false}, // it was not found anywhere
	} {
		inherited := g.inherited(parse(t, tt.referrer))
		if err := g.checkAddr(netip.MustParseAddr(tt.address), "files.test:443", inherited); (err == nil) != tt.allowed {
			t.Errorf("%s refers to %s: %v, want allowed %v", tt.referrer, tt.address, err, tt.allowed)
		}
	}
}

// TestMetadataIsNeverDialed follows redirects to what no host may stand for, also
// where the operator names it.
func TestMetadataIsNeverDialed(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Query().Get("to"), http.StatusFound)
	})
	c := newClient(s)
	for _, k := range []kind{metadata, linkLocal} {
		for _, text := range written[k] {
			host := strings.ReplaceAll(text, "%", "%25")
			if strings.Contains(host, ":") {
				host = "[" + host + "]"
			}
			u := "http://" + host + ":80/"
			c.Admit(HostPort(parse(t, u)))
			for _, u := range []string{u, s.URL + "/?to=" + url.QueryEscape(u+"latest?token=1")} {
				_, err := c.Do(t.Context(), Request{URL: parse(t, u)})
				e := wantCode(t, err, problem.CodeUnreachable)
				if !strings.Contains(e.Error(), "refused: "+k.String()) || strings.Contains(e.Error(), "token") {
					t.Errorf("Do(%s): %v, want the refusal of %v", u, err, k)
				}
			}
		}
	}
}

// A fork makes the runner follow a redirect into the network that it is in.
func TestForkIsNotLedIntoThePrivateNetwork(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://10.1.2.3/admin?do=it", http.StatusFound)
	})
	c := newClient(s).For(ForkHead, nil)
	_, err := c.Do(t.Context(), Request{URL: parse(t, s.URL)})
	e := wantCode(t, err, problem.CodeUnreachable)
	if !strings.Contains(e.Error(), "refused: an address of a private network") || !strings.Contains(e.Problem.Hint, `host "10.1.2.3:80" {}`) {
		t.Errorf("Do = %v (hint %q), want a refusal that says how to name the server", e, e.Problem.Hint)
	}
}

// TestDocumentHasTheDialTable holds docs/security.md to the data.
func TestDocumentHasTheDialTable(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, table := range map[string]string{"kinds of addresses": kindTable(), "rules for dialing": ruleTable(), "forms": formTable()} {
		if !strings.Contains(string(text), "\n\n"+table+"\n") {
			t.Errorf("docs/security.md lacks the table of %s as it is now:\n%s", name, table)
		}
	}
}

func kindTable() string {
	var b strings.Builder
	b.WriteString("| kind | networks |\n|---|---|\n")
	for _, n := range networks {
		fmt.Fprintf(&b, "| %s | ", n.kind)
		for i, p := range n.prefixes {
			if i > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "`%s`", p)
		}
		b.WriteString(" |\n")
	}
	fmt.Fprintf(&b, "| %s | every other one |\n", public)
	return b.String()
}

func formTable() string {
	var b strings.Builder
	b.WriteString("| network | form |\n|---|---|\n")
	for _, e := range embeddings {
		fmt.Fprintf(&b, "| `%s` | %s |\n", e.prefix, e.name)
	}
	return b.String()
}

func ruleTable() string {
	order := []Namer{Operator, Base, OwnHead, ForkHead}
	var b strings.Builder
	b.WriteString("| the host is at |")
	for _, who := range order {
		b.WriteString(" " + namerNames[who] + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(order)) + "\n")
	for k := range kinds {
		fmt.Fprintf(&b, "| %s |", k)
		for _, who := range order {
			b.WriteString(map[bool]string{true: " yes |", false: " no |"}[dialTable[k][who]])
		}
		b.WriteString("\n")
	}
	return b.String()
}
