package provider

import svchost "github.com/hashicorp/terraform-svchost"

// CallNames collects the providers that a text is about, to choose what the text calls
// each of them. The zero value has none.
type CallNames struct {
	addrs []Addr
	// foreign are those of the other tool's registry: their short form would be read as
	// the address of another provider.
	foreign map[Addr]bool
	tools   map[ToolName]bool // of the root modules, as far as known
}

// Add adds a provider of a root module for a tool, which may not be known.
func (n *CallNames) Add(tool Tool, addr Addr) {
	n.addrs = append(n.addrs, addr)
	if tool.Name != "" {
		if n.tools == nil {
			n.tools = map[ToolName]bool{}
		}
		n.tools[tool.Name] = true
	}
	if tool.Name != "" && addr.Host != tool.Name.DefaultHost() {
		if n.foreign == nil {
			n.foreign = map[Addr]bool{}
		}
		n.foreign[addr] = true
	}
}

// Names returns what the text calls each provider: its short form where no other has
// that, else its address.
func (n *CallNames) Names() map[Addr]string {
	sharing := map[string]int{}
	names := map[Addr]string{}
	for _, a := range n.addrs {
		if _, again := names[a]; !again {
			names[a] = a.Short()
			sharing[a.Short()]++
		}
	}
	for a, name := range names {
		if sharing[name] > 1 || n.foreign[a] {
			names[a] = a.String()
		}
	}
	return names
}

// ByHost returns what a table calls each provider, with one spelling for all of a registry:
// the short form where every tool takes that registry by default and no other registry has
// a provider of one of the names.
func (n *CallNames) ByHost() map[Addr]string {
	names, whole := n.Names(), map[svchost.Hostname]bool{}
	for a, name := range names {
		whole[a.Host] = whole[a.Host] || name != a.Short()
		for tool := range n.tools {
			whole[a.Host] = whole[a.Host] || a.Host != tool.DefaultHost()
		}
	}
	for a := range names {
		names[a] = a.Short()
		if whole[a.Host] {
			names[a] = a.String()
		}
	}
	return names
}
