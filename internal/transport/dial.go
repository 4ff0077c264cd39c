package transport

import (
	"net/netip"
	"slices"

	"github.com/relock-dev/relock/internal/collect"
)

// Namer is the party that named a host. The allowed addresses depend on it.
type Namer int

// The parties. A host in a server's answer counts as named by the client's Namer,
// with the exception in guard.inherited.
const (
	Base     Namer = iota // a file of the base branch, or of a person who runs relock by hand
	Operator              // the runner: its CLI configuration, settings and variables; see Client.Admit
	OwnHead               // a file of a pull request from a branch of the repository
	ForkHead              // a file of a pull request from a fork
	namers
)

// kind is the kind of an address. Later kinds are more private.
type kind int

const (
	public kind = iota
	private
	loopback
	linkLocal
	metadata
	kinds
)

// kindNames are the kinds' names in errors and in docs/security.md.
var kindNames = [kinds]string{
	public:    "a public address",
	private:   "an address of a private network",
	loopback:  "an address of this machine",
	linkLocal: "a link-local address",
	metadata:  "a metadata service of a cloud",
}

func (k kind) String() string { return kindNames[k] }

// dialTable says which kinds of addresses each Namer may reach. The operator
// knows the runner's network. The base branch is trusted like the operator. A
// person who can push a branch can run a workflow there anyway; the author of a
// pull request from a fork cannot. A server on the runner itself, such as the
// agent of a password manager, expects only the runner's own programs. relock
// needs nothing from the services that give machines their credentials.
var dialTable = [kinds][namers]bool{
	public:    {Operator: true, Base: true, OwnHead: true, ForkHead: true},
	private:   {Operator: true, Base: true, OwnHead: true},
	loopback:  {Operator: true},
	linkLocal: {},
	metadata:  {},
}

// networks are the networks that are not public, from IANA's registries of
// special-purpose addresses (RFC 6890) and the documents of clouds. The first
// match decides.
var networks = []struct {
	kind     kind
	prefixes []netip.Prefix
}{
	{metadata, prefixes(
		"169.254.0.0/16",     // link-local (RFC 3927), where most clouds have it
		"fd00:ec2::/32",      // AWS: metadata ::254, credentials of containers ::23
		"fd20:ce::254/128",   // Google Cloud
		"168.63.129.16/32",   // Azure
		"100.100.100.200/32", // Alibaba Cloud
		"192.0.0.192/32",     // Oracle Cloud
	)},
	{linkLocal, prefixes(
		"fe80::/10",
		"224.0.0.0/4", "ff00::/8", // multicast: nobody listens there, or many do
	)},
	// The unspecified address reaches this machine, like loopback.
	{loopback, prefixes("127.0.0.0/8", "0.0.0.0/8", "::1/128", "::/128")},
	{private, prefixes(
		"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", // RFC 1918
		"100.64.0.0/10",         // behind a carrier's or a cloud's translator (RFC 6598)
		"192.0.0.0/24",          // protocol assignments (RFC 6890)
		"198.18.0.0/15",         // benchmarks (RFC 2544)
		"240.0.0.0/4",           // reserved, and used inside of large networks
		"fc00::/7", "fec0::/10", // unique local (RFC 4193), and the site-local before them
	)},
}

func prefixes(texts ...string) []netip.Prefix {
	return collect.Mapped(texts, netip.MustParsePrefix)
}

// embeddings are IPv6 networks whose addresses contain an IPv4 address, with the
// positions of its bytes. A packet to such an address may reach the IPv4 one.
var embeddings = []struct {
	prefix netip.Prefix
	name   string
	bytes  [][4]int
}{
	{netip.MustParsePrefix("::ffff:0:0/96"), "IPv4-mapped", [][4]int{{12, 13, 14, 15}}},
	{netip.MustParsePrefix("::/96"), "IPv4-compatible", [][4]int{{12, 13, 14, 15}}},
	{netip.MustParsePrefix("64:ff9b::/96"), "NAT64", [][4]int{{12, 13, 14, 15}}},
	// RFC 8215 lets each network choose the length of the prefix. By RFC 6052,
	// the length decides the bytes: /48, /56, /64 or /96.
	{netip.MustParsePrefix("64:ff9b:1::/48"), "NAT64 of a network's own", [][4]int{{6, 7, 9, 10}, {7, 9, 10, 11}, {9, 10, 11, 12}, {12, 13, 14, 15}}},
	{netip.MustParsePrefix("2002::/16"), "6to4", [][4]int{{2, 3, 4, 5}}},
}

// kindOf returns the kind of an address. For an address with an embedded IPv4
// address, it is the kind of that one. With several readings, the least public
// one decides.
func kindOf(ip netip.Addr) kind {
	ip = ip.WithZone("")
	for _, n := range networks {
		if slices.ContainsFunc(n.prefixes, func(p netip.Prefix) bool { return p.Contains(ip) }) {
			return n.kind
		}
	}
	for _, e := range embeddings {
		if !e.prefix.Contains(ip) {
			continue
		}
		found := public
		for _, at := range e.bytes {
			found = max(found, embedded(ip, at, len(e.bytes) > 1))
		}
		return found
	}
	return public
}

// embedded is the kind of the IPv4 address in these bytes. With several readings,
// one that begins with a zero byte is the padding of another.
func embedded(ip netip.Addr, at [4]int, several bool) kind {
	bytes := ip.As16()
	inner := [4]byte{bytes[at[0]], bytes[at[1]], bytes[at[2]], bytes[at[3]]}
	if several && inner[0] == 0 {
		return public
	}
	return kindOf(netip.AddrFrom4(inner))
}

type kindSet uint8

func (s kindSet) has(k kind) bool     { return s&(1<<k) != 0 }
func (s kindSet) with(k kind) kindSet { return s | 1<<k }
