package provider

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	tfaddr "github.com/hashicorp/terraform-registry-address"
	svchost "github.com/hashicorp/terraform-svchost"
)

// Addr is a complete provider source address. The zero value is no address.
//
// Host is in its comparison form: lower case, internationalised labels in
// punycode, the default port dropped. Addresses are comparable with ==.
type Addr struct {
	Host      svchost.Hostname
	Namespace string
	Type      string
}

// Hosts and namespaces that the tools treat specially [terraform 1.11 internal/addrs/provider.go].
const (
	builtinHost     = svchost.Hostname("terraform.io")
	builtinSpace    = "builtin"
	legacySpace     = "-"
	officialSpace   = "hashicorp"
	terraformHost   = svchost.Hostname("registry.terraform.io")
	opentofuHost    = svchost.Hostname("registry.opentofu.org")
	builtinTypeName = "terraform"
)

// ParseAddr reads a provider source address from the source argument of
// required_providers: [HOST/][NAMESPACE/]TYPE. A missing host is the default
// registry of the tool, a missing namespace is "hashicorp".
//
// The parts are normalised as Terraform does it (IDNA lookup mapping). A
// namespace may have inner underscores, which not every release reads: see
// Tool.Reads. The namespace "-" is read only on the default registry of either
// tool [cases 008, 014, 039].
func ParseAddr(source string, tool ToolName) (Addr, error) {
	if !utf8.ValidString(source) {
		return Addr{}, fmt.Errorf("invalid provider source address %q: it must be UTF-8", source)
	}
	known, legacy := source, false
	if typ, ok := strings.CutPrefix(source, string(opentofuHost)+"/"+legacySpace+"/"); ok {
		// The library knows only Terraform's registry.
		known, legacy = legacySpace+"/"+typ, true
	}
	p, err := tfaddr.ParseProviderSource(known)
	if err != nil {
		return Addr{}, addrError(known, err)
	}
	addr := Addr{Host: p.Hostname, Namespace: p.Namespace, Type: p.Type}
	if !p.HasKnownNamespace() {
		addr.Namespace = officialSpace
	}
	switch {
	case legacy:
		addr.Host = opentofuHost
	case strings.Count(source, "/") < 2:
		addr.Host = tool.DefaultHost()
	}
	return addr, nil
}

// addrError adds the address to an error, and drops the library's words that
// repeat it.
func addrError(source string, err error) error {
	var pe *tfaddr.ParserError
	if !errors.As(err, &pe) {
		return fmt.Errorf("invalid provider source address %q: %w", source, err)
	}
	detail := strings.TrimSuffix(strings.ReplaceAll(pe.Detail, "\n\n", " "), ".")
	if _, reason, ok := strings.Cut(detail, fmt.Sprintf(" in source %q: ", source)); ok {
		// The library leaves a stray quote after a reason.
		detail = pe.Summary + ": " + strings.TrimSuffix(reason, `"`)
	}
	return fmt.Errorf("invalid provider source address %q: %s", source, strings.ToLower(detail[:1])+detail[1:])
}

// ParseFullAddr reads an address of exactly three parts, as in the label of a
// lock file's provider block. It accepts every spelling that ParseAddr accepts. A
// caller that needs the canonical one compares with String.
func ParseFullAddr(s string) (Addr, error) {
	if strings.Count(s, "/") != 2 {
		return Addr{}, fmt.Errorf("invalid provider source address %q: it must have the form HOST/NAMESPACE/TYPE", s)
	}
	return ParseAddr(s, Terraform)
}

// ImpliedAddr is the address of a local name without an entry in
// required_providers. For "terraform" it is the built-in provider. Any other name
// is the type, in the namespace "hashicorp" of the tool's default registry. It
// fails if the name cannot be a provider type.
func ImpliedAddr(localName string, tool ToolName) (Addr, error) {
	typ, err := tfaddr.ParseProviderPart(localName)
	if err != nil {
		return Addr{}, fmt.Errorf("invalid provider name %q: %w", localName, err)
	}
	if typ == builtinTypeName {
		return Addr{Host: builtinHost, Namespace: builtinSpace, Type: typ}, nil
	}
	return Addr{Host: tool.DefaultHost(), Namespace: officialSpace, Type: typ}, nil
}

// NormalisedName reports whether a local name has the form that the tools demand
// of the keys of required_providers and of provider block labels.
func NormalisedName(localName string) bool {
	typ, err := tfaddr.ParseProviderPart(localName)
	return err == nil && typ == localName
}

// String returns HOST/NAMESPACE/TYPE, as in lock file labels. The host is in the
// form for people (internationalised labels in Unicode).
func (a Addr) String() string {
	if a == (Addr{}) {
		return ""
	}
	return a.Host.ForDisplay() + "/" + a.Namespace + "/" + a.Type
}

// Short returns the address without a public default registry's host:
// "hashicorp/aws". It is for people; two addresses may share it.
func (a Addr) Short() string {
	if a.Host == terraformHost || a.Host == opentofuHost {
		return a.Namespace + "/" + a.Type
	}
	return a.String()
}

// Compare orders addresses as the tools order the blocks of a lock file: by
// the punycode form of the host, then namespace, then type, bytewise
// [case 014] [terraform 1.11 internal/depsfile/locks_file.go].
func (a Addr) Compare(b Addr) int {
	return cmp.Or(
		strings.Compare(string(a.Host), string(b.Host)),
		strings.Compare(a.Namespace, b.Namespace),
		strings.Compare(a.Type, b.Type),
	)
}

// Builtin reports whether the provider is part of the tool, so that it is never
// installed or locked.
func (a Addr) Builtin() bool { return a.Host == builtinHost && a.Namespace == builtinSpace }

// Legacy reports whether the address is a Terraform 0.12 name (namespace "-"),
// which no registry serves.
func (a Addr) Legacy() bool { return a.Namespace == legacySpace }

// Twin is the same name in the other tool's public registry; false if the address
// is in neither of the two.
func (a Addr) Twin() (Addr, bool) {
	switch a.Host {
	case terraformHost:
		a.Host = opentofuHost
	case opentofuHost:
		a.Host = terraformHost
	default:
		return Addr{}, false
	}
	return a, true
}

// Lockable reports whether the address may be in a lock file.
func (a Addr) Lockable() bool { return a != (Addr{}) && !a.Builtin() && !a.Legacy() }

// MarshalText implements encoding.TextMarshaler with String's form.
func (a Addr) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler with ParseFullAddr.
func (a *Addr) UnmarshalText(text []byte) (err error) {
	*a, err = ParseFullAddr(string(text))
	return err
}
