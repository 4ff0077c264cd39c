package provider

import svchost "github.com/hashicorp/terraform-svchost"

// CallNames collects the providers of a text, to choose a name for each. The zero
// value has none.
type CallNames struct {
	addrs []Addr
	// foreign are the providers of the other tool's registry: readers would take
	// their short form for another provider.
	foreign map[Addr]bool
	tools   map[ToolName]bool // of the root modules, as far as known
}

// Add adds a provider of a root module for a tool, which may be unknown.
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

// Names returns the name of each provider: its short form if that is unique, else
// its address.
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

// ByHost returns names for a table, in one form for each registry. A registry has
// short forms if it is every tool's default, and if no other registry has a
// provider of the same name.
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
